// SPDX-License-Identifier: BSD-2-Clause
#include "base/refusal.h"

#include <algorithm>
#include <array>
#include <charconv>

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

// Writes as much as there is room for.
class Text {
 public:
  explicit Text(std::span<char> room) noexcept : room_(room) {}
  void add(std::string_view words) noexcept {
    length_ += words.copy(&room_[0] + length_, room_.size() - length_);
  }
  void add(std::int64_t value, bool is_hexadecimal) noexcept {
    std::array<char, 24> digits;
    const auto bits = static_cast<std::uint64_t>(value);
    const auto [end, error] = is_hexadecimal ? std::to_chars(digits.begin(), digits.end(), bits, 16)
                                             : std::to_chars(digits.begin(), digits.end(), value);
    if (is_hexadecimal) add("0x");
    add({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }
  [[nodiscard]] std::size_t length() const noexcept { return length_; }

 private:
  std::span<char> room_;
  std::size_t length_ = 0;
};

}  // namespace

Status keep_refusal(int error, std::string_view sentence, std::span<const std::int64_t> values) noexcept {
  Refusal& last = t_last;
  last.sentence = sentence.data();
  last.length = sentence.size();
  std::copy(values.begin(), values.end(), last.values.begin());
  return {error, next_number(last)};
}

Status refuse_in_words(int error, std::initializer_list<std::string_view> words) noexcept {
  Refusal& last = t_last;
  Text text(last.text);
  for (const std::string_view word : words) text.add(word);
  last.sentence = nullptr;
  last.length = text.length();
  return {error, next_number(last)};
}

std::size_t text_of_refusal(Status refusal, std::span<char> room) noexcept {
  const Refusal& last = t_last;
  if (refusal.sentence() != last.number || room.empty()) return 0;
  Text text(room);
  std::string_view left(last.sentence == nullptr ? last.text.data() : last.sentence, last.length);
  if (last.sentence != nullptr) {
    for (const std::int64_t value : last.values) {
      const std::size_t place = left.find('{');
      if (place == std::string_view::npos) break;
      const std::size_t end = left.find('}', place);
      text.add(left.substr(0, place));
      text.add(value, end > place + 1);
      left.remove_prefix(end + 1);
    }
  }
  text.add(left);
  return text.length();
}

}  // namespace exs
