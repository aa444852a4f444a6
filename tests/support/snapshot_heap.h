// Heaps whose whole content can be saved, compared and put back, so that a test can run real objects on from any moment as often
// as it likes. A program that is linked with snapshot_heap.cc allocates from the heap of the current place. In any other program
// a place means nothing.
//
// Design notes
//  1. Each part of a world that allocates by itself has heaps of its own, one for each size of block. So the addresses do not depend
//     on the order in which parts allocate, nor on the order of sizes, and worlds that differ in these alone have equal memory.
//  2. Free memory is zero, and an allocation takes the lowest addresses that are free. So equal contents mostly mean equal memory.
//     Where they do not, a world is explored twice, which costs time and hides nothing.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace exs::test {

// Of two ends: what is tested, and the test's own; of both: the whole world, and links. kOutside: the program's heap.
enum class Place : std::uint8_t { kFirst, kSecond, kFirstUser, kSecondUser, kWhole, kLinks, kOutside };
inline constexpr std::size_t kPlaces = 6;
inline Place current_place = Place::kOutside;

// Allocates there until the end of the scope.
class InPlace {
 public:
  explicit InPlace(Place place) noexcept : before_(std::exchange(current_place, place)) {}
  ~InPlace() { current_place = before_; }
  InPlace(const InPlace&) = delete;
  InPlace& operator=(const InPlace&) = delete;
  [[nodiscard]] Place before() const noexcept { return before_; }

 private:
  const Place before_;
};

// For what belongs to none of the two ends that call it. Outside of all heaps it stays outside.
class InLinks : public InPlace {
 public:
  InLinks() noexcept : InPlace(current_place == Place::kOutside ? Place::kOutside : Place::kLinks) {}
};

// For what the test has of an end, in what that end calls, and the other way round.
class InUser : public InPlace {
 public:
  InUser() noexcept : InPlace(of_user(current_place)) {}

 private:
  static Place of_user(Place place) noexcept {
    return place == Place::kFirst ? Place::kFirstUser : place == Place::kSecond ? Place::kSecondUser : place;
  }
};
class InTested : public InPlace {
 public:
  InTested() noexcept : InPlace(of_tested(current_place)) {}

 private:
  static Place of_tested(Place place) noexcept {
    return place == Place::kFirstUser ? Place::kFirst : place == Place::kSecondUser ? Place::kSecond : place;
  }
};

// Two hashes of 64 bits. A collision among ten million moments is less likely than an error of the memory.
class Fingerprint {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    // Four chains at a time, as a multiplication takes a while.
    std::array<std::uint64_t, 4> chains{kFirst, kSecond, ~kFirst, ~kSecond};
    constexpr std::size_t kStep = 2 * sizeof chains;
    for (std::size_t i = 0; i < bytes.size(); i += kStep) {
      std::array<std::uint64_t, 2 * chains.size()> words{};
      std::memcpy(words.data(), bytes.data() + i, std::min(kStep, bytes.size() - i));
      for (std::size_t chain = 0; chain < chains.size(); ++chain)
        chains[chain] = folded(chains[chain] ^ words[2 * chain], words[2 * chain + 1] ^ kOdd);
    }
    mix(chains[0], chains[1]);
    mix(chains[2], chains[3]);
    mix(bytes.size(), 1);
  }
  void add(std::uint64_t value) noexcept { mix(value, 0); }
  bool operator==(const Fingerprint&) const = default;
  [[nodiscard]] std::uint64_t first() const noexcept { return first_; }
  [[nodiscard]] bool is_empty() const noexcept { return first_ == kFirst && second_ == kSecond; }

 private:
  static constexpr std::uint64_t kFirst = 0x9e37'79b9'7f4a'7c15, kSecond = 0xc2b2'ae3d'27d4'eb4f;
  static constexpr std::uint64_t kOdd = 0xa076'1d64'78bd'642f;

  void mix(std::uint64_t one, std::uint64_t other) noexcept {
    constexpr std::uint64_t kOne = 0xff51'afd7'ed55'8ccd, kOther = 0xc4ce'b9fe'1a85'ec53;
    const std::uint64_t before = first_;
    first_ = folded(first_ ^ one ^ kOne, other ^ kOther) + std::rotl(second_, 17);
    second_ = folded(second_ ^ other ^ kOther, one ^ kOne) + std::rotl(before, 29);
  }
  // Both halves of the product.
  static std::uint64_t folded(std::uint64_t left, std::uint64_t right) noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(left) * right;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
  }

  std::uint64_t first_ = kFirst;
  std::uint64_t second_ = kSecond;
};

// All heaps, and memory elsewhere that a world has mapped.
class SnapshotHeaps {
 public:
  // Empties the heaps. Nothing in them is destroyed.
  static void clear();
  // But for the memory `except`, in the order of addresses.
  static void add_to(Fingerprint& moment, Place place,
                     std::span<const std::span<const std::byte>> except = {});
  [[nodiscard]] static bool holds(const void* memory);

  void save(std::span<const std::span<std::byte>> elsewhere);
  void put_back(std::span<const std::span<std::byte>> elsewhere) const;

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace exs::test
