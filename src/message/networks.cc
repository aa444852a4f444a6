#include "src/message/networks.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>

#include "src/base/kernel.h"
#include "src/base/socket_address.h"

namespace exs {
namespace {

bool has_device(const char* interface) {
  const std::string path = "/sys/class/net/" + std::string(interface) + "/device/infiniband";
  return kernel::faccessat(AT_FDCWD, path.c_str(), F_OK, 0) == 0;
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
                        .is_running = (one->ifa_flags & IFF_RUNNING) != 0});
  }
  std::stable_sort(networks.begin(), networks.end(), [](const Network& one, const Network& other) {
    return std::tie(other.is_running, other.has_device) < std::tie(one.is_running, one.has_device);
  });
  return networks;
}

}  // namespace exs
