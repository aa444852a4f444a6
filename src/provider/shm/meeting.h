// A connection's way from "maybe the same host" to a place on a channel.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/provider/provider.h"
#include "src/provider/shm/channel.h"

namespace exs::shm {

// What a meeting has when it has succeeded: the channel, the peer's number of the link, and ours, reserved.
struct Place {
  std::shared_ptr<Channel> channel;
  std::uint32_t our_number = 0;   // reserved with Channel::add when the link is made
  std::uint32_t peer_number = 0;  // by which we address the peer's link
};

class ShmMeeting : public Meeting {
 public:
  // EAGAIN: not met (yet). Once; the place is the caller's then.
  virtual Result<Place> take_place() = 0;
};

}  // namespace exs::shm
