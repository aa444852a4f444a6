// SPDX-License-Identifier: BSD-2-Clause
#include "tools/run/host_list.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <sstream>

#include "tools/common/command_line.h"
#include "tools/common/failure.h"

namespace run {
namespace {

constexpr std::size_t kSlotsMax = 65536;

tools::UsageError wrong(const std::string& text) {
  return tools::UsageError("\"" + text + "\" is no host: give NAME or NAME:PROCESSES");
}

std::size_t slots_of(std::string_view number, const std::string& whole) {
  std::size_t slots = 0;
  const char* const end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, slots);
  if (error != std::errc() || stop != end || slots < 1 || slots > kSlotsMax) throw wrong(whole);
  return slots;
}

// An IPv6 address is in brackets. A name with a leading - would be an option to ssh.
HostName parse_host(const std::string& text) {
  const std::size_t bracket = text.find(']');
  const std::size_t colon = text.find(':', bracket == std::string::npos ? 0 : bracket);
  HostName host;
  host.name = text.substr(0, colon);
  if (colon != std::string::npos) host.slots = slots_of(std::string_view(text).substr(colon + 1), text);
  if (host.name.size() > 1 && host.name.front() == '[' && host.name.back() == ']')
    host.name = host.name.substr(1, host.name.size() - 2);
  const bool has_space = host.name.find_first_of(" \t\r\n") != std::string::npos;
  if (host.name.empty() || host.name.front() == '-' || has_space) throw wrong(text);
  return host;
}

}  // namespace

std::vector<HostName> parse_hosts(const std::string& list) {
  std::vector<HostName> hosts;
  std::istringstream rest(list + ",");
  for (std::string text; std::getline(rest, text, ',');) hosts.push_back(parse_host(text));
  return hosts;
}

std::vector<HostName> read_hosts(const std::string& path) {
  std::ifstream file(path);
  if (!file) tools::fail("cannot read " + path, errno);
  std::vector<HostName> hosts;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    std::string more;
    if (!(words >> name)) continue;
    hosts.push_back(parse_host(name));
    if (!(words >> more)) continue;
    constexpr std::string_view kSlots = "slots=";
    if (!more.starts_with(kSlots) || words >> name) throw wrong(line);
    hosts.back().slots = slots_of(std::string_view(more).substr(kSlots.size()), line);
  }
  if (hosts.empty()) throw tools::UsageError(path + " names no host");
  return hosts;
}

std::vector<HostName> filled(std::vector<HostName> hosts, std::size_t processes) {
  std::size_t room = 0;
  for (const HostName& host : hosts) room += host.slots;
  if (room < processes || room > kSlotsMax)
    throw tools::UsageError("the hosts have room for " + std::to_string(room) + " processes");
  std::size_t left = processes == 0 ? room : processes;
  for (HostName& host : hosts) left -= (host.slots = std::min(host.slots, left));
  std::erase_if(hosts, [](const HostName& host) { return host.slots == 0; });
  return hosts;
}

}  // namespace run
