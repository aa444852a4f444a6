// exs_recv_snapshot: reads the description of the slots, the data of one, and the counter of updates.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>

#include "src/api/api_call.h"
#include "src/api/peer_reader.h"
#include "src/api/slot_choice.h"

namespace exs {
namespace {

// A reader wants a slot to outlast this many times the updates of the read before. One that is overwritten
// costs a read, one that is a little older costs nothing.
constexpr std::uint64_t kMargin = 2;
constexpr std::uint64_t kUpdatesMax = std::uint64_t{1} << EXS_SLOTS_MAX;

class SnapshotReader {
 public:
  SnapshotReader(PeerReader& reader, std::uint64_t slots_offset, std::uint64_t span)
      : reader_(reader), slots_offset_(slots_offset), wished_(outlasting(span)) {}

  Status snapshot(const Piece& into, std::uint64_t offset) {
    if (const Status status = read_description(); !status.ok()) return status;
    if (offset > slot_bytes() || into.length_bytes > slot_bytes() - offset) return Status(ERANGE);
    for (;;) {
      const auto choice = choose_slot(sequence(), slot_count(), wished_);
      if (!choice) return Status(ENOMSG);
      const std::uint64_t begun = begun_updates(sequence());
      if (const Status status = reader_.read(into, offset_of(choice->update) + offset); !status.ok())
        return status;
      if (const Status status = read_sequence(); !status.ok()) return status;
      const std::uint64_t begun_now = begun_updates(sequence());
      result_.span = begun_now - begun;
      ++result_.tries;
      if (begun_now >= begun && begun_now < choice->overwritten_by) {
        result_.update = choice->update;
        result_.newest = sequence() / 2;
        return {};
      }
      wished_ = std::max(outlasting(wished_), outlasting(result_.span));
      if (const Status status = reader_.count_retry(); !status.ok()) return status;
    }
  }
  [[nodiscard]] const exs_snapshot_t& result() const { return result_; }

 private:
  static constexpr std::size_t kBlockBytes = sizeof(exs_slots_t);

  static std::uint64_t outlasting(std::uint64_t span) { return kMargin * std::min(span, kUpdatesMax); }

  [[nodiscard]] std::uint64_t sequence() const { return words_[0]; }
  [[nodiscard]] std::uint64_t slot_count() const { return words_[1]; }
  [[nodiscard]] std::uint64_t slot_bytes() const { return words_[2]; }
  [[nodiscard]] std::uint64_t blocks() const { return (slot_bytes() + kBlockBytes - 1) / kBlockBytes; }
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t update) const {
    const auto index = std::min(static_cast<std::uint64_t>(std::countr_zero(update)), slot_count() - 1);
    return slots_offset_ + (1 + index * blocks()) * kBlockBytes;
  }

  Status read_sequence() { return reader_.read_words({words_, 1}, slots_offset_); }
  // EINVAL: there are no slots, or none that fit into an address space.
  Status read_description() {
    if (const Status status = reader_.read_words(words_, slots_offset_); !status.ok()) return status;
    constexpr std::uint64_t kBytesMax = std::numeric_limits<std::int64_t>::max() / (EXS_SLOTS_MAX + 1);
    const bool fits = slot_count() >= 2 && slot_count() <= EXS_SLOTS_MAX && slot_bytes() <= kBytesMax;
    if (fits) return Status();
    return refuse(EINVAL, "there are no slots at offset {} of the peer's memory: exs_slots_init makes them",
                  slots_offset_);
  }

  PeerReader& reader_;
  const std::uint64_t slots_offset_;
  std::uint64_t wished_;         // updates that the slot should outlast
  std::uint64_t words_[3] = {};  // the first members of exs_slots_t
  exs_snapshot_t result_{};
};

static_assert(offsetof(exs_slots_t, slot_count) == 8 && offsetof(exs_slots_t, slot_bytes) == 16);

}  // namespace
}  // namespace exs

using namespace exs;

ssize_t exs_recv_snapshot(int socket, void* buffer, size_t length, exs_mhandle_t region, uint64_t offset,
                          uint64_t slots_offset, exs_snapshot_t* snapshot, int64_t timeout_ns) {
  return api_call<ssize_t>(-1, [&](Library& library) -> Result<ssize_t> {
    auto reader = PeerReader::on(library, socket, timeout_ns);
    if (!reader) return failure(reader.error());
    if (slots_offset % alignof(exs_slots_t) != 0 || length == 0)
      return failure(
          refuse(EINVAL, "the length is {} and the offset of the slots {}: at least 1, and a multiple of {}",
                 length, slots_offset, alignof(exs_slots_t)));
    SnapshotReader slots(*reader, slots_offset, snapshot == nullptr ? 0 : snapshot->span);
    const Piece into{static_cast<std::byte*>(buffer), length, region};
    if (const Status status = slots.snapshot(into, offset); !status.ok()) return failure(status);
    if (snapshot != nullptr) *snapshot = slots.result();
    reader->count_snapshot();
    return static_cast<ssize_t>(length);
  });
}
