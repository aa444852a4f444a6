// On which interfaces, and to which port, services are looked for and announced by multicast. Thread: any.
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
  std::vector<std::string> interfaces;  // none: all that multicast, but loopback
  std::uint16_t port = kPort;

  bool operator==(const MulticastSetting&) const = default;
};

// "off", or names of interfaces with commas between them, or none, and perhaps a colon and a port.
std::optional<MulticastSetting> parse_multicast(std::string_view text);

struct Interface {
  unsigned index = 0;
  bool is_loopback = false;

  bool operator==(const Interface&) const = default;
};
// Those that are there now, and up: at most kInterfacesMax.
std::vector<Interface> interfaces_of(const MulticastSetting& setting);

}  // namespace exs::svc
