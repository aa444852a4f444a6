// Resources of an operation besides one piece of registered memory: uses of several regions, memory
// registered for the operation, bytes copied at the post, and the notice to its owner.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "event/queue/notice.h"
#include "event/queue/region.h"
#include "src/provider/provider_set.h"

namespace exs {

// One allocation: the object, its pieces, then its own bytes. The destructor gives everything back. Thread:
// the posting thread, then the shard.
class Attachment {
 public:
  struct Destroyer {
    void operator()(Attachment* attachment) const noexcept;
  };
  using Owner = std::unique_ptr<Attachment, Destroyer>;

  // Makes room for that many pieces and own bytes. Null: no memory.
  static Owner create(ProviderSet& providers, std::size_t pieces_max, std::size_t own_bytes) noexcept;
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  // Adds memory inside `region`, and a use of the region. EINVAL: the region is being deregistered.
  Status add(Region& region, std::byte* address, std::size_t length_bytes);
  // Adds other memory, registered until the end of the attachment. Returns the error of the provider.
  Status add(std::span<std::byte> memory, Access access);

  [[nodiscard]] std::span<std::byte> own() noexcept { return {own_, own_bytes_}; }
  // Sets the memory of the operation: a list of pieces, or the only piece.
  void describe(proto::Operation& operation) const noexcept;

  // Data for the event of the operation.
  const void* posted = nullptr;
  std::size_t posted_bytes = 0;
  std::uint32_t event_flags = 0;
  std::shared_ptr<Notice> notice;  // null: no notice is wanted

 private:
  Attachment(ProviderSet& providers, LocalSlice* slices, Region** regions, std::byte* own,
             std::size_t own_bytes)
      : providers_(providers), slices_(slices), regions_(regions), own_(own), own_bytes_(own_bytes) {}
  ~Attachment();

  ProviderSet& providers_;
  LocalSlice* const slices_;
  Region** const regions_;  // of each piece; null: the attachment registered the piece
  std::byte* const own_;
  const std::size_t own_bytes_;
  std::size_t pieces_ = 0;
};

}  // namespace exs
