// The RDMA devices of this machine, as /sys shows them. It opens no device and calls no RDMA library, so a
// look is safe for any user.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/provider/reason.h"

namespace exs::verbs {

// The places to look; tests make folders of their own. Plain pointers: for a default argument with strings,
// g++ 12 destroys too much if the second string finds no memory.
struct SurveyRoots {
  const char* devices = "/sys/class/infiniband";
  const char* openers = "/sys/class/infiniband_verbs";  // which file of `files` opens which device
  const char* files = "/dev/infiniband";
  bool asks_kernel = true;  // for what older kernels leave out of /sys
};

enum class Transport : std::uint8_t { kUnknown, kInfiniBand, kRoce, kIwarp };
const char* name_of(Transport transport) noexcept;  // "InfiniBand"

// A network interface that a port carries the traffic of.
struct Interface {
  std::string name;
  bool is_up = false;  // ip link set NAME up
  std::vector<sockaddr_storage> addresses;
};

struct DevicePort {
  unsigned number = 0;
  std::string state;           // "ACTIVE"
  std::string physical_state;  // "LinkUp"
  std::string link_layer;      // "Ethernet"
  std::string rate;            // "100 Gb/sec (4X EDR)"
  std::vector<Interface> interfaces;

  [[nodiscard]] bool is_active() const { return state == "ACTIVE"; }
};

struct SurveyedDevice {
  std::string name;
  std::string node_type;  // "CA", "RNIC"
  Transport transport = Transport::kUnknown;
  std::string file;    // what opens it; empty: there is none
  int file_error = 0;  // errno of access(2) to that file, and to the connection manager's
  std::vector<DevicePort> ports;

  [[nodiscard]] bool is_active() const;  // a port of it is
};

// There is some device; found by one or two system calls.
bool any_device(const SurveyRoots& roots = {});

// A moment's picture; takes some milliseconds. Thread: any.
class Survey {
 public:
  explicit Survey(const SurveyRoots& roots = {});

  [[nodiscard]] const std::vector<SurveyedDevice>& devices() const& noexcept { return devices_; }
  // Those with an interface that has this local address, in whatever state; the port number is not looked at.
  [[nodiscard]] std::vector<const SurveyedDevice*> carriers_of(const sockaddr& local) const;
  // Why verbs is not to be had at all: no device, none that may be opened, none with an active port. kNone:
  // nothing speaks against it.
  [[nodiscard]] Reason why_not() const;

 private:
  std::vector<SurveyedDevice> devices_;
};

// Why this one would not be chosen; kNone: it would.
Reason why_not(const SurveyedDevice& device);

// The reason why so much memory could not be pinned for a device, after an ENOMEM: the limit of this process,
// or another one.
Reason why_not_pinned(std::uint64_t bytes);
// Pinned memory counts against RLIMIT_MEMLOCK.
bool is_memory_limited() noexcept;

}  // namespace exs::verbs
