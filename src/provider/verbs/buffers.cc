// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/verbs/buffers.h"

#include <utility>

namespace exs::verbs {

Status Buffers::grow() {
  const std::size_t length_bytes = buffer_bytes_ * buffers_a_piece_;
  Result<Pages> pages = Pages::map(length_bytes);
  if (!pages) return pages.error();
  Result<MemoryRegion> region = device_.expose({pages->start(), length_bytes}, IBV_ACCESS_LOCAL_WRITE);
  if (!region) return region.error();
  const BufferNumber first = count();
  free_.reserve(first + buffers_a_piece_);
  pieces_.push_back({std::move(*pages), std::move(*region)});
  for (std::uint32_t i = buffers_a_piece_; i > 0; --i) free_.push_back(first + i - 1);
  return Status();
}

BufferNumber Buffers::take_buffer() noexcept {
  if (free_.empty()) return kNoBuffer;
  const BufferNumber buffer = free_.back();
  free_.pop_back();
  return buffer;
}

std::span<std::byte> Buffers::memory(BufferNumber buffer) const noexcept {
  const Piece& piece = pieces_[buffer / buffers_a_piece_];
  return {piece.pages.start() + buffer % buffers_a_piece_ * buffer_bytes_, buffer_bytes_};
}

ibv_sge Buffers::entry(BufferNumber buffer, std::size_t length_bytes) const noexcept {
  return {reinterpret_cast<std::uintptr_t>(memory(buffer).data()), static_cast<std::uint32_t>(length_bytes),
          pieces_[buffer / buffers_a_piece_].region->lkey};
}

}  // namespace exs::verbs
