// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/vector_post.h"

#include <unistd.h>

#include <algorithm>

#include "base/guarded_copy.h"
#include "base/kernel.h"
#include "base/refusal.h"
#include "src/api/memory.h"
#include "src/api/refusals.h"

namespace exs {
namespace {

using proto::Direction;
using proto::Operation;

// Reads the whole range; after an error the bytes are undefined.
Status read_file(const Element& element, std::span<std::byte> into) {
  auto offset = static_cast<off_t>(element.file_offset);
  while (!into.empty()) {
    const ssize_t count = kernel::pread(element.file, into.data(), into.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Status(errno);
    if (count == 0) return refuse(EINVAL, "the file {} has become shorter meanwhile", element.file);
    into = into.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
  return Status();
}

// The kernel grants more memory than the machine has, and then kills the process that fills it.
bool fits_memory(std::size_t bytes) {
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes / page_bytes < static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES));
}

struct Lengths {
  std::size_t all_bytes = 0;
  std::size_t file_bytes = 0;
  bool all_registered = true;
};

Result<Lengths> lengths_of(std::span<const Element> elements) {
  Lengths lengths;
  for (const Element& element : elements) {
    const std::size_t bytes = element.piece.length_bytes;
    if (bytes > SIZE_MAX / 2 - lengths.all_bytes)
      return failure(refuse(EINVAL, "the pieces are too long together"));
    lengths.all_bytes += bytes;
    if (element.file >= 0) lengths.file_bytes += bytes;
    if (element.piece.region == EXS_MHANDLE_UNREGISTERED) lengths.all_registered = false;
  }
  return lengths;
}

// Builds the attachment of a post from its elements.
class Builder {
 public:
  Builder(Library& library, const TransferTarget& target, Direction direction, const Operation& operation,
          Attachment& attachment, bool gathers)
      : library_(library),
        target_(target),
        direction_(direction),
        operation_(operation),
        attachment_(attachment),
        gathers_(gathers),
        own_left_(attachment.own()) {}

  Status add(const Element& element) {
    if (element.file >= 0) return add_file(element);
    std::shared_ptr<Region> region;
    if (const Status status = check(element.piece, region); !status.ok()) return status;
    if (element.piece.length_bytes == 0) return Status();
    if (gathers_) {
      const auto into = take_own(element.piece.length_bytes);
      if (guarded_copy(into.data(), element.piece.address, into.size())) return Status();
      return not_mapped(element.piece.address, into.size());
    }
    if (region) return attachment_.add(*region, element.piece.address, element.piece.length_bytes);
    return attachment_.add({element.piece.address, element.piece.length_bytes}, access());
  }
  Status finish() {
    return gathers_ && !attachment_.own().empty() ? attachment_.add(attachment_.own(), access()) : Status();
  }

 private:
  Status check(const Piece& piece, std::shared_ptr<Region>& region) {
    if (piece.region == EXS_MHANDLE_UNREGISTERED)
      return piece.length_bytes == 0 ? Status() : check_unregistered(piece, direction_);
    region = library_.regions.find(piece.region);
    return region ? check_piece(piece, *region, *target_.session, direction_, operation_)
                  : no_such_region(piece.region);
  }
  Status add_file(const Element& element) {
    const auto into = take_own(element.piece.length_bytes);
    if (const Status status = read_file(element, into); !status.ok()) return status;
    return gathers_ || into.empty() ? Status() : attachment_.add(into, access());
  }
  std::span<std::byte> take_own(std::size_t bytes) {
    const auto taken = own_left_.first(bytes);
    own_left_ = own_left_.subspan(bytes);
    return taken;
  }
  [[nodiscard]] Access access() const {
    return direction_ == Direction::kSend ? Access::kRemoteRead : Access::kLocal;
  }

  Library& library_;
  const TransferTarget& target_;
  const Direction direction_;
  const Operation& operation_;
  Attachment& attachment_;
  const bool gathers_;  // everything is copied, into one piece
  std::span<std::byte> own_left_;
};

}  // namespace

Result<Element> element_of(const exs_iovec_t& vector) {
  if (vector.iov_reserved != 0) return failure(reserved_is_set());
  return Element{{static_cast<std::byte*>(vector.iov_base), vector.iov_len, vector.iov_mhandle}, -1, 0};
}

// Reserves before it reads a file, so that a refused call costs little.
Status post_elements(Library& library, const TransferRequest& request, const TransferTarget& target,
                     std::span<const Element> elements, std::uint8_t event_type, const void* posted) {
  const auto lengths = lengths_of(elements);
  if (!lengths) return lengths.error();
  if (lengths->file_bytes > 0 && !fits_memory(lengths->file_bytes)) return Status(ENOMEM);
  Operation operation = operation_of(request, target);
  operation.memory.length_bytes = lengths->all_bytes;
  operation.tag.event_type = event_type;
  const bool gathers = request.direction == Direction::kSend && !lengths->all_registered &&
                       lengths->all_bytes <= target.session->small_bytes() &&
                       !is_exposed(*target.session, operation);
  auto attachment =
      Attachment::create(target.session->shard()->providers(), std::max<std::size_t>(elements.size(), 1),
                         gathers ? lengths->all_bytes : lengths->file_bytes);
  if (!attachment) return Status(ENOMEM);
  attachment->posted = posted;
  if (!attachment->own().empty()) attachment->event_flags = EXS_EVF_COPIED;
  OperationReservation reservation(target, request.direction, false);
  if (!reservation.status().ok()) return reservation.status();
  Builder builder(library, target, request.direction, operation, *attachment, gathers);
  for (const Element& element : elements) {
    if (const Status status = builder.add(element); !status.ok()) return status;
  }
  if (const Status status = builder.finish(); !status.ok()) return status;
  return post_attached(reservation, request, target, std::move(attachment), operation);
}

}  // namespace exs
