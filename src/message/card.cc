// SPDX-License-Identifier: BSD-2-Clause
#include "src/message/card.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/hex.h"
#include "base/refusal.h"
#include "base/socket_address.h"
#include "src/message/networks.h"
#include "src/provider/shm/identity.h"

namespace exs {
namespace {

constexpr std::size_t kAddressesMax = 4;

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

// The way to a process of another host. An address that this host has too, as each that runs docker has one of them, leads nowhere else.
in_addr best_of(const Card& card, const std::vector<Network>& networks) {
  const in_addr* other = nullptr;
  for (const in_addr& address : card.addresses) {
    const auto is_own = [&address](const Network& one) { return one.address.s_addr == address.s_addr; };
    const auto is_near = [&address](const Network& one) { return one.contains(address); };
    if (std::any_of(networks.begin(), networks.end(), is_own)) continue;
    if (std::any_of(networks.begin(), networks.end(), is_near)) return address;
    if (other == nullptr) other = &address;
  }
  return other != nullptr ? *other : card.addresses.front();
}

}  // namespace

sockaddr_storage listening_address(bool has_other_hosts) noexcept {
  return v4_address({htonl(has_other_hosts ? INADDR_ANY : INADDR_LOOPBACK)}, 0);
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
      addresses.push_back(v4_address({htonl(INADDR_LOOPBACK)}, card->port));
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
