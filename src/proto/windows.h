// Windows on the memory of a send, for its peer to read: one on each piece.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "src/proto/operation.h"
#include "src/wire/messages.h"

namespace exs::proto {

// What one advert names: nearly always a single window.
struct Windows {
  RemoteSlice first;
  std::vector<RemoteSlice> more;
  std::uint64_t length_bytes = 0;  // of all
};

// Opens one on each piece that is not empty. Nobody reads an empty window, so none is opened. An error concerns this one operation
// (ENOTCONN: the link).
Result<Windows> open_windows(Link& link, const Operation& operation);
// EBUSY: the peer reads from one this moment.
Status close_windows(Link& link, const Windows& windows);

[[nodiscard]] inline wire::Advert on_wire(const RemoteSlice& window) noexcept {
  return {window.address, window.length_bytes, window.key};
}

}  // namespace exs::proto
