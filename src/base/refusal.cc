// SPDX-License-Identifier: BSD-2-Clause
#include "src/base/refusal.h"

#include <algorithm>
#include <array>

namespace exs {
namespace {

struct Refusal {
  std::uint32_t number = 0;
  const char* sentence = nullptr;  // null: `text`
  std::size_t length = 0;          // of either
  std::array<std::int64_t, kRefusalValuesMax> values{};
  std::array<char, kSentenceBytesMax> text{};
};

constinit thread_local Refusal t_last;

// Odd, and never 0.
std::uint32_t next_number(Refusal& last) {
  last.number = (last.number + 2) | 1U;
  return last.number;
}

}  // namespace

Status keep_refusal(int error, fmt::string_view sentence, std::span<const std::int64_t> values) noexcept {
  Refusal& last = t_last;
  last.sentence = sentence.data();
  last.length = sentence.size();
  std::copy(values.begin(), values.end(), last.values.begin());
  return {error, next_number(last)};
}

Status refuse_in_words(int error, std::string_view sentence) noexcept {
  Refusal& last = t_last;
  last.sentence = nullptr;
  last.length = sentence.copy(last.text.data(), last.text.size());
  return {error, next_number(last)};
}

std::size_t text_of_refusal(Status refusal, std::span<char> room) noexcept {
  const Refusal& last = t_last;
  if (refusal.sentence() != last.number) return 0;
  if (last.sentence == nullptr)
    return std::string_view(last.text.data(), last.length).copy(room.data(), room.size());
  const auto& values = last.values;
  const auto made = fmt::format_to_n(room.data(), room.size(), fmt::runtime({last.sentence, last.length}),
                                     values[0], values[1], values[2], values[3], values[4]);
  return std::min(made.size, room.size());
}

}  // namespace exs
