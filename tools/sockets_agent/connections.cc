#include "tools/sockets_agent/connections.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace agent {
namespace {

constexpr std::size_t kV4Offset = 12;

// As /proc/net/tcp and tcp6 have an address: words of the processor's order, in hexadecimal.
std::string text_of(const Place16& place, bool is_v6) {
  std::string text;
  char word_text[16];
  for (std::size_t at = is_v6 ? 0 : kV4Offset; at < sizeof place.address; at += sizeof(std::uint32_t)) {
    std::uint32_t word = 0;
    std::memcpy(&word, place.address + at, sizeof word);
    std::snprintf(word_text, sizeof word_text, "%08X", word);
    text += word_text;
  }
  std::snprintf(word_text, sizeof word_text, ":%04X", place.port);
  return text + word_text;
}

bool is_v4(const Place16& place) {
  constexpr std::uint8_t kMapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(place.address, kMapped, sizeof kMapped) == 0;
}

std::optional<uid_t> find(const char* table, const std::string& own, const std::string& peer) {
  std::ifstream lines(table);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string number;
    std::string local;
    std::string remote;
    std::string state;
    std::string queues;
    std::string timer;
    std::string retransmits;
    uid_t user = 0;
    if (!(words >> number >> local >> remote >> state) || local != own || remote != peer || state != "01")
      continue;
    if (words >> queues >> timer >> retransmits >> user) return user;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uid_t> owner_of(const Place16& own, const Place16& peer) {
  if (is_v4(own) && is_v4(peer))
    if (const auto user = find("/proc/net/tcp", text_of(own, false), text_of(peer, false))) return user;
  return find("/proc/net/tcp6", text_of(own, true), text_of(peer, true));
}

}  // namespace agent
