// Refusals that begin with the name of a procedure or an interface: "LIST: not answered in time". Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/refusal.h"

namespace exs::rpc {

inline Status refuse_named(int error, std::string_view name, std::string_view sentence) noexcept {
  return refuse_in_words(error, {name, ": ", sentence});
}

// A number among the words of a refusal.
class Decimal {
 public:
  explicit Decimal(std::uint32_t number) noexcept
      : end_(std::to_chars(digits_.data(), digits_.data() + digits_.size(), number).ptr) {}
  [[nodiscard]] std::string_view text() const noexcept {
    return {digits_.data(), static_cast<std::size_t>(end_ - digits_.data())};
  }

 private:
  std::array<char, 10> digits_;
  const char* end_;
};

}  // namespace exs::rpc
