// The bytes of a ring. A position counts bytes ever put in; `start` is the one that lies at the first place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace exs::lane {

// Of a source or a sink whose memory may not be there: whether some was not, so that nothing of it counts.
template <typename Memory>
bool has_failed(const Memory& memory) {
  if constexpr (requires { memory.failed(); }) {
    return memory.failed();
  } else {
    return false;
  }
}

// Thread: what the holder of the direction's lock does.
class Ring {
 public:
  // `capacity` is a power of two.
  Ring(std::byte* bytes, std::size_t capacity) : bytes_(bytes), capacity_(capacity) {}

  [[nodiscard]] std::size_t capacity() const { return capacity_; }

  // `source.copy_to(place, n)` is called for one piece, or for two where the ring ends between them.
  template <typename Source>
  void put(std::uint64_t position, std::uint64_t start, std::size_t count, Source& source) {
    const std::size_t first = piece(position, start, count);
    source.copy_to(place(position, start), first);
    if (count > first) source.copy_to(bytes_, count - first);
  }
  template <typename Sink>
  void get(std::uint64_t position, std::uint64_t start, std::size_t count, Sink& sink) const {
    const std::size_t first = piece(position, start, count);
    sink.copy_from(place(position, start), first);
    if (count > first) sink.copy_from(bytes_, count - first);
  }

 private:
  // Inside the ring, whatever the numbers are.
  [[nodiscard]] std::size_t offset(std::uint64_t position, std::uint64_t start) const {
    return (position - start) & (capacity_ - 1);
  }
  [[nodiscard]] std::byte* place(std::uint64_t position, std::uint64_t start) const {
    return bytes_ + offset(position, start);
  }
  [[nodiscard]] std::size_t piece(std::uint64_t position, std::uint64_t start, std::size_t count) const {
    return std::min(count, capacity_ - offset(position, start));
  }

  std::byte* bytes_;
  std::size_t capacity_;
};

}  // namespace exs::lane
