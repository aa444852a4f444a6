// The reason why a call is refused, as a sentence. It is kept for the thread and becomes text only if
// exs_errtext() asks. So a refusal costs a few stores, also in a program that posts until it gets EAGAIN.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include <fmt/core.h>

#include "src/base/status.h"

namespace exs {

inline constexpr std::size_t kRefusalValuesMax = 5;
inline constexpr std::size_t kSentenceBytesMax = 512;

Status keep_refusal(int error, fmt::string_view sentence, std::span<const std::int64_t> values) noexcept;

template <std::convertible_to<std::int64_t>>
using RefusalValue = std::int64_t;

// `return refuse(EINVAL, "the depth {} is not within 1 and {}", depth, EXS_QDEPTH_MAX);` reports the fault
// and the cure, after the name of the caller's function. `sentence` lives for ever.
template <std::convertible_to<std::int64_t>... Values>
Status refuse(int error, fmt::format_string<RefusalValue<Values>...> sentence, Values... values) noexcept {
  static_assert(sizeof...(values) <= kRefusalValuesMax);
  if constexpr (sizeof...(values) == 0) {
    return keep_refusal(error, sentence, {});
  } else {
    const std::int64_t kept[] = {static_cast<std::int64_t>(values)...};
    return keep_refusal(error, sentence, kept);
  }
}
// Words that are made now.
Status refuse_in_words(int error, std::string_view sentence) noexcept;

// Writes the sentence of a refusal of this thread and returns its length. 0: another has taken its place.
std::size_t text_of_refusal(Status refusal, std::span<char> room) noexcept;

}  // namespace exs
