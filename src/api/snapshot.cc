// exs_recv_snapshot.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/api_call.h"
#include "src/api/peer_reader.h"

using namespace exs;
using exs::cpp::detail::SlotReading;

ssize_t exs_recv_snapshot(int socket, void* buffer, size_t length, exs_mhandle_t region, uint64_t offset,
                          uint64_t slots_offset, exs_snapshot_t* snapshot, int64_t timeout_ns) {
  return api_call<ssize_t>(-1, [&](Library& library) -> Result<ssize_t> {
    auto reader = PeerReader::on(library, socket, timeout_ns);
    if (!reader) return failure(reader.error());
    if (slots_offset % SlotReading::kAlignment != 0 || length == 0)
      return failure(
          refuse(EINVAL, "the length is {} and the offset of the slots {}: at least 1, and a multiple of {}",
                 length, slots_offset, SlotReading::kAlignment));
    SlotReading reading(length, offset, slots_offset, snapshot == nullptr ? 0 : snapshot->span);
    const Status status = reader->take({static_cast<std::byte*>(buffer), length, region}, reading);
    if (!status.ok()) return failure(status);
    if (snapshot != nullptr) *snapshot = reading.result();
    return static_cast<ssize_t>(length);
  });
}
