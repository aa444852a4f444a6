// exs_recv_window.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/api_call.h"
#include "src/api/peer_reader.h"

using namespace exs;
using exs::cpp::detail::WindowReading;

ssize_t exs_recv_window(int socket, void* buffer, size_t length, exs_mhandle_t region, uint64_t offset,
                        uint64_t window_offset, int64_t timeout_ns) {
  return api_call<ssize_t>(-1, [&](Library& library) -> Result<ssize_t> {
    auto reader = PeerReader::on(library, socket, timeout_ns);
    if (!reader) return failure(reader.error());
    if (window_offset % WindowReading::kAlignment != 0 || length == 0)
      return failure(refuse(EINVAL,
                            "the length is {} and the window's offset {}: at least 1, and a multiple of {}",
                            length, window_offset, WindowReading::kAlignment));
    WindowReading reading(offset, window_offset);
    const Status status = reader->take({static_cast<std::byte*>(buffer), length, region}, reading);
    if (!status.ok()) return failure(status);
    return static_cast<ssize_t>(length);
  });
}
