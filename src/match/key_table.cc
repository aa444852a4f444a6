// SPDX-License-Identifier: BSD-2-Clause
#include "src/match/key_table.h"

#include <algorithm>
#include <bit>

namespace exs::match {
namespace {

constexpr std::size_t kFirstPlaces = 64;

// The finalizer of splitmix64.
constexpr std::uint64_t mix(std::uint64_t word) noexcept {
  word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27U)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31U);
}

}  // namespace

std::size_t KeyTable::hash(const Key& key) const noexcept {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;
  return static_cast<std::size_t>(mix(key.bits ^ (seed_ + key.source * kGolden)));
}

std::size_t KeyTable::find(const Key& key) const noexcept {
  const std::size_t mask = places_.size() - 1;
  std::size_t place = hash(key) & mask;
  while (!places_[place].entries.empty() && places_[place].key != key) place = (place + 1) & mask;
  return place;
}

void KeyTable::reserve(std::size_t more) {
  const std::size_t wanted = (keys_ + more) * 2;
  if (wanted <= places_.size()) return;
  std::vector<KeyPlace> places(std::max(kFirstPlaces, std::bit_ceil(wanted)));
  places_.swap(places);
  for (const KeyPlace& old : places)
    if (!old.entries.empty()) places_[find(old.key)] = old;
}

void KeyTable::append(const Key& key, Links& links, std::uint32_t entry) noexcept {
  KeyPlace& place = places_[find(key)];
  if (place.entries.empty()) {
    place.key = key;
    ++keys_;
  }
  place.entries.append(links, entry);
}

void KeyTable::remove_at(std::size_t place, Links& links, std::uint32_t entry) noexcept {
  places_[place].entries.remove(links, entry);
  if (!places_[place].entries.empty()) return;
  --keys_;
  free(place);
}

// Later entries of the run move up, each as far as it may.
void KeyTable::free(std::size_t place) noexcept {
  const std::size_t mask = places_.size() - 1;
  for (std::size_t next = (place + 1) & mask; !places_[next].entries.empty(); next = (next + 1) & mask) {
    const std::size_t home = hash(places_[next].key) & mask;
    if (((next - home) & mask) < ((next - place) & mask)) continue;
    places_[place] = places_[next];
    places_[next].entries = {};
    place = next;
  }
}

void KeyTable::clear() noexcept {
  for (KeyPlace& place : places_) place.entries = {};
  keys_ = 0;
}

}  // namespace exs::match
