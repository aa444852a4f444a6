// exs_recv_window: reads the counter, the data, and the counter again. Each read is posted when the one
// before is complete, so the order in which a provider serves reads does not matter.
#include "src/api/api_call.h"
#include "src/api/waited_transfer.h"

namespace exs {
namespace {

using proto::Direction;

class WindowReader {
 public:
  WindowReader(Library& library, WaitedTransfers& waited, std::uint64_t window_offset,
               std::uint64_t deadline_ns)
      : library_(library),
        waited_(waited),
        request_(waited.request(Direction::kReceive, 0)),
        window_offset_(window_offset),
        deadline_ns_(deadline_ns) {}

  Status snapshot(const Piece& into, std::uint64_t offset) {
    if (const Status status = read_counter(); !status.ok()) return status;
    for (;;) {
      while (is_open()) {
        if (const Status status = read_counter(); !status.ok()) return status;
      }
      const std::uint64_t before = counter_;
      if (const Status status = read(into, offset); !status.ok()) return status;
      if (const Status status = read_counter(); !status.ok()) return status;
      if (counter_ == before) return Status();
    }
  }

 private:
  // An update is under way.
  [[nodiscard]] bool is_open() const { return counter_ % 2 != 0; }

  [[nodiscard]] proto::Operation operation_at(std::uint64_t offset) const {
    proto::Operation operation = operation_of(request_, waited_.target());
    operation.at_offset = true;
    operation.offset = offset;
    return operation;
  }

  Status read(const Piece& into, std::uint64_t offset) {
    const Status posted = post_piece(library_, request_, waited_.target(), into, operation_at(offset));
    return posted.ok() ? wait(into.length_bytes) : posted;
  }

  // Like read() of unregistered memory, without the check of a range that the caller names.
  Status read_counter() {
    const TransferTarget& target = waited_.target();
    auto attachment = Attachment::create(target.session->shard()->providers(), 1, 0);
    if (!attachment) return Status(ENOMEM);
    const auto memory = std::as_writable_bytes(std::span(&counter_, 1));
    if (const Status status = attachment->add(memory, Access::kLocal); !status.ok()) return status;
    OperationReservation reservation(target, Direction::kReceive, false);
    if (!reservation.status().ok()) return reservation.status();
    const Status posted =
        post_attached(reservation, request_, target, std::move(attachment), operation_at(window_offset_));
    return posted.ok() ? wait(memory.size()) : posted;
  }

  // The deadline also ends the reading of a window that changes all the time.
  Status wait(std::size_t length_bytes) {
    const auto moved = waited_.outcome(request_, deadline_ns_);
    if (!moved) return moved.error();
    if (*moved != length_bytes) return Status(ECANCELED);
    return deadline_ns_ != kNoDeadline && Clock().now_ns() >= deadline_ns_ ? Status(ETIMEDOUT) : Status();
  }

  Library& library_;
  WaitedTransfers& waited_;
  const TransferRequest request_;
  const std::uint64_t window_offset_;
  const std::uint64_t deadline_ns_;
  std::uint64_t counter_ = 0;
};

}  // namespace
}  // namespace exs

using namespace exs;

ssize_t exs_recv_window(int socket, void* buffer, size_t length, exs_mhandle_t region, uint64_t offset,
                        uint64_t window_offset, int64_t timeout_ns) {
  return api_call<ssize_t>(-1, [&](Library& library) -> Result<ssize_t> {
    auto waited = WaitedTransfers::on(library, socket);
    if (!waited) return failure(waited.error());
    if (!waited->target().session->allows_persistent()) return failure(EOPNOTSUPP);
    if (window_offset % alignof(exs_window_t) != 0 || length == 0) return failure(EINVAL);
    const std::uint64_t deadline_ns =
        timeout_ns < 0 ? kNoDeadline : Clock().deadline_after(static_cast<std::uint64_t>(timeout_ns));
    const Piece into{static_cast<std::byte*>(buffer), length, region};
    WindowReader reader(library, *waited, window_offset, deadline_ns);
    if (const Status status = reader.snapshot(into, offset); !status.ok()) return failure(status);
    return static_cast<ssize_t>(length);
  });
}
