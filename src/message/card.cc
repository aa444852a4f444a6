#include "src/message/card.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

#include "src/base/hex.h"
#include "src/base/kernel.h"
#include "src/base/refusal.h"
#include "src/base/socket_address.h"
#include "src/provider/shm/identity.h"

namespace exs {
namespace {

constexpr std::size_t kAddressesMax = 4;

struct Network {
  in_addr address;
  in_addr mask;
  bool has_device;

  [[nodiscard]] bool contains(in_addr other) const noexcept {
    return ((address.s_addr ^ other.s_addr) & mask.s_addr) == 0;
  }
};

// Of network cards that are RDMA devices as well.
bool has_device(const char* interface) {
  const std::string path = "/sys/class/net/" + std::string(interface) + "/device/infiniband";
  return kernel::faccessat(AT_FDCWD, path.c_str(), F_OK, 0) == 0;
}

// Those of this host that others may reach, RDMA devices first.
Result<std::vector<Network>> own_networks() {
  ifaddrs* first = nullptr;
  if (kernel::getifaddrs(&first) != 0) return failure(errno);
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, ::freeifaddrs);
  std::vector<Network> networks;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    const bool is_meant = each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET &&
                          each->ifa_netmask != nullptr && (each->ifa_flags & IFF_UP) != 0 &&
                          (each->ifa_flags & IFF_LOOPBACK) == 0;
    if (is_meant)
      networks.push_back({v4_host(*each->ifa_addr), v4_host(*each->ifa_netmask), has_device(each->ifa_name)});
  }
  std::stable_partition(networks.begin(), networks.end(), [](const Network& one) { return one.has_device; });
  return networks;
}

Result<std::string> own_host() {
  Reason why_not;
  const auto identity = shm::Identity::of_this_process(why_not);
  if (!identity) return failure(identity.error());
  return hex_of(identity->host) + "." + std::to_string(identity->net_namespace);
}

std::string_view next_word(std::string_view& words) {
  const std::string_view word = words.substr(0, words.find(' '));
  words.remove_prefix(std::min(words.size(), word.size() + 1));
  return word;
}

sockaddr_storage v4_address(in_addr host, std::uint16_t port) noexcept {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = host;
  address.sin_port = htons(port);
  return copy_of(reinterpret_cast<const sockaddr&>(address));
}
in_addr v4_host_of(std::uint32_t address) noexcept {
  return {htonl(address)};
}

struct Card {
  std::string_view host;
  std::uint16_t port = 0;
  std::vector<in_addr> addresses;
};

std::optional<Card> read_card(std::string_view text) {
  Card card;
  card.host = next_word(text);
  const std::string_view port = next_word(text);
  const char* const end = port.data() + port.size();
  if (std::from_chars(port.data(), end, card.port).ptr != end || card.port == 0) return std::nullopt;
  while (!text.empty() && card.addresses.size() < kAddressesMax) {
    in_addr address{};
    if (::inet_pton(AF_INET, std::string(next_word(text)).c_str(), &address) != 1) return std::nullopt;
    card.addresses.push_back(address);
  }
  return card;
}

// The way to a process of another host.
in_addr best_of(const Card& card, const std::vector<Network>& networks) {
  for (const in_addr address : card.addresses) {
    const auto is_near = [address](const Network& one) { return one.contains(address); };
    if (std::any_of(networks.begin(), networks.end(), is_near)) return address;
  }
  return card.addresses.front();
}

}  // namespace

sockaddr_storage listening_address(bool has_other_hosts) noexcept {
  return v4_address(v4_host_of(has_other_hosts ? INADDR_ANY : INADDR_LOOPBACK), 0);
}

Result<std::string> make_card(std::uint16_t port, bool has_other_hosts) {
  const auto host = own_host();
  if (!host) return failure(host.error());
  std::string card = *host + " " + std::to_string(port);
  if (!has_other_hosts) return card;
  const auto networks = own_networks();
  if (!networks) return failure(networks.error());
  for (std::size_t i = 0; i < std::min(networks->size(), kAddressesMax); ++i) {
    std::array<char, INET_ADDRSTRLEN> text;
    card += std::string(" ") + ::inet_ntop(AF_INET, &(*networks)[i].address, text.data(), text.size());
  }
  return card;
}

Result<std::vector<sockaddr_storage>> addresses_on(const std::vector<std::string>& cards) {
  const auto host = own_host();
  if (!host) return failure(host.error());
  const auto networks = own_networks();
  if (!networks) return failure(networks.error());
  std::vector<sockaddr_storage> addresses;
  for (const std::string& text : cards) {
    if (text.empty()) {
      addresses.emplace_back();
      continue;
    }
    const auto card = read_card(text);
    if (!card)
      return failure(refuse(EPROTO, "rank {} has published what is no address of exs", addresses.size()));
    if (card->host == *host) {
      addresses.push_back(v4_address(v4_host_of(INADDR_LOOPBACK), card->port));
    } else if (!card->addresses.empty()) {
      addresses.push_back(v4_address(best_of(*card, *networks), card->port));
    } else {
      return failure(
          refuse(EPROTO, "rank {} is on another host and has no address of IPv4", addresses.size()));
    }
  }
  return addresses;
}

}  // namespace exs
