// Big-endian readers and writers for all layouts of services. A cursor that would leave its memory stays where it is and becomes invalid,
// so a caller checks once, at the end.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace exs::svc {

using Bytes = std::span<const std::uint8_t>;

class Writer {
 public:
  explicit Writer(std::span<std::uint8_t> to) noexcept : to_(to) {}
  template <class Number>
  void number(Number value) noexcept {
    std::array<std::uint8_t, sizeof(Number)> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::uint8_t>(value >> (8 * (bytes.size() - 1 - i)));
    raw(bytes);
  }
  void raw(Bytes bytes) noexcept {
    if (bytes.size() > to_.size() - at_) good_ = false;
    if (!good_ || bytes.empty()) return;
    std::memcpy(to_.data() + at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  [[nodiscard]] bool good() const noexcept { return good_; }
  [[nodiscard]] std::size_t written_bytes() const noexcept { return at_; }

 private:
  std::span<std::uint8_t> to_;
  std::size_t at_ = 0;
  bool good_ = true;
};

class Reader {
 public:
  explicit Reader(Bytes from) noexcept : from_(from) {}
  template <class Number>
  Number number() noexcept {
    Number value = 0;
    for (const std::uint8_t byte : raw(sizeof(Number))) value = static_cast<Number>(value << 7 << 1 | byte);
    return value;
  }
  // Returns an empty span if not enough bytes are left.
  Bytes raw(std::size_t bytes) noexcept {
    if (bytes > from_.size()) good_ = false;
    if (!good_) return {};
    const Bytes taken = from_.first(bytes);
    from_ = from_.subspan(bytes);
    return taken;
  }
  template <std::size_t kBytes>
  std::array<std::uint8_t, kBytes> array() noexcept {
    std::array<std::uint8_t, kBytes> value{};
    const Bytes bytes = raw(kBytes);
    std::copy(bytes.begin(), bytes.end(), value.begin());
    return value;
  }
  [[nodiscard]] bool good() const noexcept { return good_; }
  [[nodiscard]] std::size_t left_bytes() const noexcept { return from_.size(); }
  // All bytes have been read, and none was missing.
  [[nodiscard]] bool ended() const noexcept { return good_ && from_.empty(); }

 private:
  Bytes from_;
  bool good_ = true;
};

}  // namespace exs::svc
