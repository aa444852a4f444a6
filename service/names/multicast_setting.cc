// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/multicast_setting.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>

#include "base/kernel.h"

namespace exs::svc {
namespace {

bool parse_port(std::string_view text, std::uint16_t& port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port != 0;
}

bool is_wanted(const MulticastSetting& setting, const ifaddrs& one) {
  if ((one.ifa_flags & IFF_UP) == 0) return false;
  const std::vector<std::string>& names = setting.interfaces;
  if (!names.empty()) return std::find(names.begin(), names.end(), one.ifa_name) != names.end();
  return (one.ifa_flags & IFF_MULTICAST) != 0 && (one.ifa_flags & IFF_LOOPBACK) == 0;
}

}  // namespace

std::optional<MulticastSetting> parse_multicast(std::string_view text) {
  MulticastSetting setting;
  setting.is_on = text != "off";
  if (!setting.is_on) return setting;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos && !parse_port(text.substr(colon + 1), setting.port)) return {};
  std::string_view names = text.substr(0, colon);
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    if (end == 0 || end >= IFNAMSIZ || end + 1 == names.size()) return {};
    setting.interfaces.emplace_back(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  if (setting.interfaces.size() > MulticastSetting::kInterfacesMax) return {};
  return setting;
}

std::vector<Interface> interfaces_of(const MulticastSetting& setting) {
  std::vector<Interface> found;
  ifaddrs* all = nullptr;
  if (kernel::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (!is_wanted(setting, *one)) continue;
    const Interface interface { ::if_nametoindex(one->ifa_name), (one->ifa_flags & IFF_LOOPBACK) != 0 };
    if (interface.index == 0 || std::find(found.begin(), found.end(), interface) != found.end()) continue;
    if (found.size() < MulticastSetting::kInterfacesMax) found.push_back(interface);
  }
  ::freeifaddrs(all);
  return found;
}

}  // namespace exs::svc
