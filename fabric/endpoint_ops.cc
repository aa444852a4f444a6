// The operations of an endpoint other than transfers.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstring>

#include "fabric/endpoint.h"
#include "fabric/offer.h"
#include "fabric/tables.h"

namespace exs::fabric {
namespace {

int close_endpoint(fid_t fid) noexcept {
  Endpoint& self = Endpoint::of(fid);
  self.close();
  delete &self;
  return 0;
}

int bind_endpoint(fid* fid, struct fid* other, std::uint64_t flags) noexcept {
  return guarded([&] { return Endpoint::of(fid).bind(*other, flags); });
}

// For FI_GETOPSFLAG and FI_SETOPSFLAG: FI_TRANSMIT or FI_RECV in the argument selects the direction.
Status get_flags(const Endpoint& self, std::uint64_t& flags) noexcept {
  if (flags == FI_TRANSMIT) {
    flags = self.send_flags();
  } else if (flags == FI_RECV) {
    flags = self.receive_flags();
  } else {
    return Status(FI_EINVAL);
  }
  return {};
}

Status set_flags(Endpoint& self, std::uint64_t flags) noexcept {
  const std::uint64_t direction = flags & (FI_TRANSMIT | FI_RECV);
  const std::uint64_t wanted = flags & ~direction;
  if (direction == FI_TRANSMIT && (wanted & ~kSendFlags) == 0) {
    self.set_send_flags(wanted);
  } else if (direction == FI_RECV && (wanted & ~kReceiveFlags) == 0) {
    self.set_receive_flags(wanted);
  } else {
    return Status(FI_EINVAL);
  }
  return {};
}

int control_endpoint(fid* fid, int command, void* argument) noexcept {
  return guarded([&]() -> Status {
    Endpoint& self = Endpoint::of(fid);
    switch (command) {
      case FI_ENABLE: return self.enable();
      case FI_GETOPSFLAG: return get_flags(self, *static_cast<std::uint64_t*>(argument));
      case FI_SETOPSFLAG: return set_flags(self, *static_cast<std::uint64_t*>(argument));
      default: return Status(FI_ENOSYS);
    }
  });
}

ssize_t cancel_transfer(fid_t fid, void* context) {
  return guarded<ssize_t>([&] { return Endpoint::of(fid).cancel(context); });
}

bool is_multi_receive_min(int level, int option) noexcept {
  return level == FI_OPT_ENDPOINT && option == FI_OPT_MIN_MULTI_RECV;
}

int get_option(fid_t fid, int level, int option, void* value, std::size_t* length) {
  if (!is_multi_receive_min(level, option)) return -FI_ENOPROTOOPT;
  const std::size_t bytes = Endpoint::of(fid).multi_receive_min();
  if (*length < sizeof bytes) return -FI_ETOOSMALL;
  *length = sizeof bytes;
  std::memcpy(value, &bytes, sizeof bytes);
  return 0;
}

int set_option(fid_t fid, int level, int option, const void* value, std::size_t length) {
  if (!is_multi_receive_min(level, option)) return -FI_ENOPROTOOPT;
  std::size_t bytes = 0;
  if (length != sizeof bytes) return -FI_EINVAL;
  std::memcpy(&bytes, value, sizeof bytes);
  Endpoint::of(fid).set_multi_receive_min(bytes);
  return 0;
}

ssize_t depth_left(fid_ep* /*ep*/) {
  return kDepth;
}

int get_name(fid_t fid, void* into, std::size_t* length) {
  return guarded([&] { return Endpoint::of(fid).name(into, length); });
}

}  // namespace

fi_ops endpoint_fid_ops = fid_ops(close_endpoint, bind_endpoint, control_endpoint);

fi_ops_ep endpoint_ops = {.size = sizeof(fi_ops_ep),
                          .cancel = cancel_transfer,
                          .getopt = get_option,
                          .setopt = set_option,
                          .tx_ctx = kNotHere,
                          .rx_ctx = kNotHere,
                          .rx_size_left = depth_left,
                          .tx_size_left = depth_left};

fi_ops_cm name_ops = {.size = sizeof(fi_ops_cm),
                      .setname = kNotHere,
                      .getname = get_name,
                      .getpeer = kNotHere,
                      .connect = kNotHere,
                      .listen = kNotHere,
                      .accept = kNotHere,
                      .reject = kNotHere,
                      .shutdown = kNotHere,
                      .join = kNotHere};

fi_ops_rma no_rma_ops = {.size = sizeof(fi_ops_rma),
                         .read = kNotHere,
                         .readv = kNotHere,
                         .readmsg = kNotHere,
                         .write = kNotHere,
                         .writev = kNotHere,
                         .writemsg = kNotHere,
                         .inject = kNotHere,
                         .writedata = kNotHere,
                         .injectdata = kNotHere};

fi_ops_atomic no_atomic_ops = {.size = sizeof(fi_ops_atomic),
                               .write = kNotHere,
                               .writev = kNotHere,
                               .writemsg = kNotHere,
                               .inject = kNotHere,
                               .readwrite = kNotHere,
                               .readwritev = kNotHere,
                               .readwritemsg = kNotHere,
                               .compwrite = kNotHere,
                               .compwritev = kNotHere,
                               .compwritemsg = kNotHere,
                               .writevalid = kNotHere,
                               .readwritevalid = kNotHere,
                               .compwritevalid = kNotHere};

fi_ops_collective no_collective_ops = {.size = sizeof(fi_ops_collective),
                                       .barrier = kNotHere,
                                       .broadcast = kNotHere,
                                       .alltoall = kNotHere,
                                       .allreduce = kNotHere,
                                       .allgather = kNotHere,
                                       .reduce_scatter = kNotHere,
                                       .reduce = kNotHere,
                                       .scatter = kNotHere,
                                       .gather = kNotHere,
                                       .msg = kNotHere,
                                       .barrier2 = kNotHere};

}  // namespace exs::fabric
