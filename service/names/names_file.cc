// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/names_file.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "service/names/address.h"
#include "service/names/record.h"
#include "service/names/setting.h"

namespace exs::svc {
namespace {

constexpr const char* kNamesVariable = "EXS_SERVICES";
constexpr const char* kNamesPath = "/etc/exs/services";

struct Entry {
  std::string name;
  IdBytes id{};
  std::vector<sockaddr_storage> addresses;
};

bool has_port(const sockaddr_storage& address) {
  return address.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(address).sin_port != 0
                                      : reinterpret_cast<const sockaddr_in6&>(address).sin6_port != 0;
}

// Splits the line into words up to a '#'.
std::optional<Entry> parse_line(std::string line) {
  line.resize(std::min(line.find('#'), line.size()));
  std::istringstream words(line);
  Entry entry;
  std::string word;
  if (!(words >> entry.name >> word)) return {};
  const std::optional<IdBytes> id = parse_id(word);
  if (!id) return {};
  entry.id = *id;
  while (words >> word) {
    const std::optional<sockaddr_storage> address = parse_address(word);
    if (!address || !has_port(*address)) return {};
    if (entry.addresses.size() < kAddressesMax) entry.addresses.push_back(*address);
  }
  return entry;
}

// Returns the first entry that fits.
template <typename Fits>
std::optional<Entry> find_in(const std::string& path, Fits fits) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::optional<Entry> entry = parse_line(std::move(line));
    if (entry && fits(*entry)) return entry;
  }
  return {};
}

}  // namespace

std::string NamesFile::default_path() {
  const char* const named = setting(kNamesVariable);
  return named != nullptr ? named : kNamesPath;
}

std::optional<IdBytes> NamesFile::id_of(std::string_view name) const {
  const std::optional<Entry> entry = find_in(path_, [name](const Entry& one) { return one.name == name; });
  return entry ? std::optional<IdBytes>(entry->id) : std::nullopt;
}

std::vector<sockaddr_storage> NamesFile::addresses_of(const IdBytes& id) const {
  std::optional<Entry> entry =
      find_in(path_, [&id](const Entry& one) { return one.id == id && !one.addresses.empty(); });
  return entry ? std::move(entry->addresses) : std::vector<sockaddr_storage>();
}

}  // namespace exs::svc
