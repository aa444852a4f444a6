// The reason why a call is refused, as a sentence. It is kept for the thread and becomes text only if
// exs_errtext() asks. So a refusal costs a few stores, also in a program that posts until it gets EAGAIN.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/status.h"

namespace exs {

inline constexpr std::size_t kRefusalValuesMax = 5;
inline constexpr std::size_t kSentenceBytesMax = 512;

// A sentence with a place for each value: {}, or {:#x} for hexadecimal digits. The compiler counts the places.
template <std::size_t kValues>
class Sentence {
 public:
  consteval Sentence(const char* text)
      : text_(text) {  // NOLINT(google-explicit-constructor): a literal is one
    std::size_t places = 0;
    for (const char character : text_) places += character == '{' ? 1 : 0;
    if (places != kValues) throw "the sentence has more or fewer places than there are values";
  }
  [[nodiscard]] std::string_view text() const noexcept { return text_; }

 private:
  std::string_view text_;
};

Status keep_refusal(int error, std::string_view sentence, std::span<const std::int64_t> values) noexcept;

// `return refuse(EINVAL, "the depth {} is not within 1 and {}", depth, EXS_QDEPTH_MAX);` reports the fault
// and the cure, after the name of the caller's function. `sentence` lives for ever.
template <std::convertible_to<std::int64_t>... Values>
Status refuse(int error, std::type_identity_t<Sentence<sizeof...(Values)>> sentence,
              Values... values) noexcept {
  static_assert(sizeof...(values) <= kRefusalValuesMax);
  if constexpr (sizeof...(values) == 0) {
    return keep_refusal(error, sentence.text(), {});
  } else {
    const std::int64_t kept[] = {static_cast<std::int64_t>(values)...};
    return keep_refusal(error, sentence.text(), kept);
  }
}
// Words that are made now; what does not fit is left out.
Status refuse_in_words(int error, std::initializer_list<std::string_view> words) noexcept;
inline Status refuse_in_words(int error, std::string_view sentence) noexcept {
  return refuse_in_words(error, {sentence});
}

// Writes the sentence of a refusal of this thread and returns its length. 0: another has taken its place.
std::size_t text_of_refusal(Status refusal, std::span<char> room) noexcept;

}  // namespace exs
