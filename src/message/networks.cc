// SPDX-License-Identifier: BSD-2-Clause
#include "src/message/networks.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>

#include "base/kernel.h"
#include "base/socket_address.h"

namespace exs {
namespace {

bool has_device(const char* interface) {
  const std::string path = "/sys/class/net/" + std::string(interface) + "/device/infiniband";
  return kernel::faccessat(AT_FDCWD, path.c_str(), F_OK, 0) == 0;
}

bool is_in(const std::filesystem::path& folder, const char* name) {
  return kernel::faccessat(AT_FDCWD, (folder / name).c_str(), F_OK, 0) == 0;
}

// A network card, or what stands on one: a VLAN, a bond.
bool stands_on_card(const std::filesystem::path& interface) {
  if (is_in(interface, "device") || is_in(interface, "bonding")) return true;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(interface, error)) {
    if (entry.path().filename().string().starts_with("lower_")) return true;
  }
  return false;
}

// Docker gives the bridge of each host one address, so there it is the host that asks, and no other.
bool stays_inside(const char* interface) {
  const std::filesystem::path all = "/sys/class/net";
  if (!is_in(all / interface, "bridge")) return false;
  std::error_code error;
  for (const auto& port : std::filesystem::directory_iterator(all / interface / "brif", error)) {
    if (stands_on_card(all / port.path().filename())) return false;
  }
  return true;
}

bool leads_to_others(const ifaddrs& one) noexcept {
  return one.ifa_addr != nullptr && one.ifa_addr->sa_family == AF_INET && one.ifa_netmask != nullptr &&
         (one.ifa_flags & IFF_UP) != 0 && (one.ifa_flags & IFF_LOOPBACK) == 0;
}

}  // namespace

Result<std::vector<Network>> own_networks() {
  ifaddrs* first = nullptr;
  if (kernel::getifaddrs(&first) != 0) return failure(errno);
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, ::freeifaddrs);
  std::vector<Network> networks;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (!leads_to_others(*one)) continue;
    networks.push_back({.address = v4_host(*one->ifa_addr),
                        .mask = v4_host(*one->ifa_netmask),
                        .has_device = has_device(one->ifa_name),
                        .stays_inside = stays_inside(one->ifa_name),
                        .is_running = (one->ifa_flags & IFF_RUNNING) != 0});
  }
  std::stable_sort(networks.begin(), networks.end(), [](const Network& one, const Network& other) {
    return std::tie(other.is_running, one.stays_inside, other.has_device) <
           std::tie(one.is_running, other.stays_inside, one.has_device);
  });
  return networks;
}

}  // namespace exs
