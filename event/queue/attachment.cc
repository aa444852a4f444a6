// SPDX-License-Identifier: BSD-2-Clause
#include "event/queue/attachment.h"

#include <limits>
#include <new>

namespace exs {

Attachment::Owner Attachment::create(ProviderSet& providers, std::size_t pieces_max,
                                     std::size_t own_bytes) noexcept {
  static_assert(sizeof(Attachment) % alignof(LocalSlice) == 0 && sizeof(LocalSlice) % alignof(Region*) == 0);
  // NOLINTNEXTLINE(bugprone-sizeof-expression): of pointers, and so meant
  const std::size_t fixed_bytes = sizeof(Attachment) + pieces_max * (sizeof(LocalSlice) + sizeof(Region*));
  if (own_bytes > std::numeric_limits<std::ptrdiff_t>::max() - fixed_bytes) return nullptr;
  auto* memory = static_cast<std::byte*>(::operator new(fixed_bytes + own_bytes, std::nothrow));
  if (memory == nullptr) return nullptr;
  auto* slices = reinterpret_cast<LocalSlice*>(memory + sizeof(Attachment));
  auto** regions = reinterpret_cast<Region**>(slices + pieces_max);
  return Owner(new (memory) Attachment(providers, slices, regions, memory + fixed_bytes, own_bytes));
}

void Attachment::Destroyer::operator()(Attachment* attachment) const noexcept {
  attachment->~Attachment();
  ::operator delete(attachment);
}

Attachment::~Attachment() {
  for (std::size_t i = 0; i < pieces_; ++i) {
    if (regions_[i] != nullptr) {
      regions_[i]->release();
    } else {
      providers_.deregister_memory(slices_[i].key);
    }
  }
  if (notice) notice->end();
}

Status Attachment::add(Region& region, std::byte* address, std::size_t length_bytes) {
  if (!region.use()) return Status(EINVAL);
  new (&slices_[pieces_]) LocalSlice{address, length_bytes, region.key()};
  regions_[pieces_] = &region;
  ++pieces_;
  return Status();
}

Status Attachment::add(std::span<std::byte> memory, Access access) {
  const auto key = providers_.register_memory(memory, access, -1);
  if (!key) return key.error();
  new (&slices_[pieces_]) LocalSlice{memory.data(), memory.size(), *key};
  regions_[pieces_] = nullptr;
  ++pieces_;
  return Status();
}

void Attachment::describe(proto::Operation& operation) const noexcept {
  if (pieces_ == 1) {
    operation.memory = slices_[0];
    return;
  }
  operation.vector = {slices_, pieces_};
  operation.memory = {};
  for (const LocalSlice& slice : operation.vector) operation.memory.length_bytes += slice.length_bytes;
}

}  // namespace exs
