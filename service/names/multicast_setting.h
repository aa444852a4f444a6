// The interfaces and the port for finding and announcing services by multicast. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace exs::svc {

struct MulticastSetting {
  static constexpr std::uint16_t kPort = 17752;
  static constexpr std::size_t kInterfacesMax = 16;

  bool is_on = true;
  std::vector<std::string> interfaces;  // empty: all multicast interfaces but loopback
  std::uint16_t port = kPort;

  bool operator==(const MulticastSetting&) const = default;
};

// Parses "off", or a list of interface names with commas, which may be empty, with an optional colon and port.
std::optional<MulticastSetting> parse_multicast(std::string_view text);

struct Interface {
  unsigned index = 0;
  bool is_loopback = false;

  bool operator==(const Interface&) const = default;
};
// The interfaces of the setting that exist and are up: at most kInterfacesMax.
std::vector<Interface> interfaces_of(const MulticastSetting& setting);

}  // namespace exs::svc
