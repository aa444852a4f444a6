// What all targets of the fuzzers share. A target is a file:
//
//   EXS_FUZZ_TARGET(name) { ... input ... }
//
// The preset fuzz makes a program of libFuzzer of each, fuzz-name (scripts/fuzz). Every other build links those of a room into one
// program, tests-fuzz-ROOM, which replays the corpus and changes it a little (replay.cc).
//
// A target must neither depend on the clock nor on what an earlier input left behind, and it must end for every input.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/support/dice.h"

namespace exs::fuzz {

using Bytes = std::vector<std::byte>;

// Numbers and bytes from the bytes of an input; zeros when they have ended.
class Input final : public test::Dice {
 public:
  explicit Input(std::span<const std::byte> bytes) noexcept : left_(bytes) {}

  [[nodiscard]] bool has_ended() const noexcept { return left_.empty(); }
  [[nodiscard]] std::size_t left() const noexcept { return left_.size(); }

  template <typename Number>
  Number number() noexcept {
    static_assert(std::is_integral_v<Number>);
    const auto some = take(sizeof(Number));
    Number value{};
    if (!some.empty()) std::memcpy(&value, some.data(), some.size());
    return value;
  }
  std::uint64_t operator()() override { return number<std::uint64_t>(); }
  // A small choice takes one byte of the input.
  std::uint64_t below(std::uint64_t end) override {
    if (end <= 1) return 0;
    if (end <= 1U << 8U) return number<std::uint8_t>() % end;
    if (end <= 1U << 16U) return number<std::uint16_t>() % end;
    return (end <= std::uint64_t{1} << 32U ? number<std::uint32_t>() : number<std::uint64_t>()) % end;
  }

  // At most `count` bytes, in memory of their own: the address sanitizer sees a byte too many.
  Bytes bytes(std::size_t count) {
    const auto some = take(count);
    return {some.begin(), some.end()};
  }
  Bytes rest() { return bytes(left_.size()); }
  std::string text(std::size_t count) {
    const auto some = take(count);
    return {reinterpret_cast<const char*>(some.data()), some.size()};
  }
  std::string rest_of_text() { return text(left_.size()); }

 private:
  std::span<const std::byte> take(std::size_t count) noexcept {
    const auto some = left_.first(std::min(count, left_.size()));
    left_ = left_.subspan(some.size());
    return some;
  }

  std::span<const std::byte> left_;
};

// What must be so for every input.
inline void hold(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "must hold: %s\n", what);
  std::abort();
}

using Target = void (*)(Input& input);

// In a program of several targets, which finds them by their names.
class Registration {
 public:
  Registration(const char* name, Target target) noexcept;
};

}  // namespace exs::fuzz

#ifdef EXS_LIBFUZZER
#define EXS_FUZZ_ENTRY(name)                                                          \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);  \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    exs::fuzz::Input input(std::as_bytes(std::span(data, size)));                     \
    name##_target(input);                                                             \
    return 0;                                                                         \
  }
#else
#define EXS_FUZZ_ENTRY(name) static const exs::fuzz::Registration name##_registration(#name, &name##_target);
#endif

#define EXS_FUZZ_TARGET(name)                         \
  static void name##_target(exs::fuzz::Input& input); \
  EXS_FUZZ_ENTRY(name)                                \
  static void name##_target(exs::fuzz::Input& input)
