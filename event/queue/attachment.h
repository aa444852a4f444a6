// What an operation holds on to when it is more than one piece of registered memory: the uses of several
// regions, memory registered for its duration, bytes copied when it was posted, the notice to its owner.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "event/queue/notice.h"
#include "event/queue/region.h"
#include "src/provider/provider_set.h"

namespace exs {

// One allocation: itself, its pieces, then its own bytes. Gives back everything when it dies. Thread: the
// poster's, then the shard's.
class Attachment {
 public:
  struct Destroyer {
    void operator()(Attachment* attachment) const noexcept;
  };
  using Owner = std::unique_ptr<Attachment, Destroyer>;

  // Room for so many pieces and so many bytes of its own. Null: no memory.
  static Owner create(ProviderSet& providers, std::size_t pieces_max, std::size_t own_bytes) noexcept;
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  // The next piece: memory inside `region`, which is in use from now on. EINVAL: it is being deregistered.
  Status add(Region& region, std::byte* address, std::size_t length_bytes);
  // The next piece: other memory, registered until the end. What the provider says.
  Status add(std::span<std::byte> memory, Access access);

  [[nodiscard]] std::span<std::byte> own() noexcept { return {own_, own_bytes_}; }
  // The memory of the operation: its pieces, or the only one.
  void describe(proto::Operation& operation) const noexcept;

  // For the event: what was posted, and what is to be told of it.
  const void* posted = nullptr;
  std::size_t posted_bytes = 0;
  std::uint32_t event_flags = 0;
  std::shared_ptr<Notice> notice;  // null: nobody wants one

 private:
  Attachment(ProviderSet& providers, LocalSlice* slices, Region** regions, std::byte* own,
             std::size_t own_bytes)
      : providers_(providers), slices_(slices), regions_(regions), own_(own), own_bytes_(own_bytes) {}
  ~Attachment();

  ProviderSet& providers_;
  LocalSlice* const slices_;
  Region** const regions_;  // of each piece; null: the key of the slice is ours
  std::byte* const own_;
  const std::size_t own_bytes_;
  std::size_t pieces_ = 0;
};

}  // namespace exs
