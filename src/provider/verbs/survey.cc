// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/verbs/survey.h"

#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string_view>
#include <system_error>

#include "base/kernel.h"
#include "base/socket_address.h"
#include "src/provider/verbs/port_interfaces.h"

namespace exs::verbs {
namespace {

namespace files = std::filesystem;

// ---------------------------------------------------------------- what a folder and a file say

struct FolderCloser {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

// Calls `see` with each name, until it returns false. An iterator of std::filesystem ends the program where it finds no
// memory.
template <typename See>
void look_into(const char* folder, See see) {
  const std::unique_ptr<DIR, FolderCloser> open(::opendir(folder));
  if (!open) return;
  while (const dirent* const entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !see(name)) return;
  }
}

std::vector<std::string> names_in(const files::path& folder) {
  std::vector<std::string> names;
  look_into(folder.c_str(), [&](std::string_view name) {
    names.emplace_back(name);
    return true;
  });
  std::sort(names.begin(), names.end());
  return names;
}

// Empty if there is no line, or if reading fails, as for unused entries of a port's tables.
std::string line_of(const files::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

// "4: ACTIVE" -> "ACTIVE".
std::string word_of(const files::path& file) {
  const std::string line = line_of(file);
  const std::size_t colon = line.find(": ");
  if (line.empty()) return "unknown";
  return colon == std::string::npos ? line : line.substr(colon + 2);
}

// ---------------------------------------------------------------- interfaces

using InterfaceTable = std::map<std::string, Interface>;

InterfaceTable all_interfaces() {
  InterfaceTable table;
  ifaddrs* first = nullptr;
  if (kernel::getifaddrs(&first) != 0) return table;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(first, &::freeifaddrs);
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    Interface& interface = table[entry->ifa_name];
    interface.name = entry->ifa_name;
    interface.is_up = (entry->ifa_flags & IFF_UP) != 0;
    if (entry->ifa_addr == nullptr || address_bytes(*entry->ifa_addr) == 0) continue;
    interface.addresses.push_back(copy_of(*entry->ifa_addr));
  }
  return table;
}

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

// The interfaces of a port. RoCE names them for each of its addresses. InfiniBand and iWARP cards have them
// beside the RDMA device. Software devices name their parent.
std::vector<std::string> interfaces_of(const files::path& device, unsigned port, Transport transport) {
  constexpr int kUnusedMax = 16;  // entries are filled from the first, with few gaps
  std::vector<std::string> names;
  const files::path table = device / "ports" / std::to_string(port) / "gid_attrs/ndevs";
  std::error_code error;
  for (int entry = 0, unused = 0; unused < kUnusedMax; ++entry) {
    const files::path file = table / std::to_string(entry);
    if (!files::exists(file, error)) break;
    const std::string name = line_of(file);
    unused = name.empty() ? unused + 1 : 0;
    add_name(names, name);
  }
  if (transport == Transport::kInfiniBand || transport == Transport::kIwarp) {
    for (const std::string& name : names_in(device / "device/net")) {
      const std::string dev_port = line_of(device / "device/net" / name / "dev_port");
      if (std::strtoul(dev_port.c_str(), nullptr, 10) + 1 == port) add_name(names, name);
    }
  }
  add_name(names, line_of(device / "parent"));
  return names;
}

// ---------------------------------------------------------------- devices

Transport transport_of(const std::string& node_type, const std::string& link_layer) {
  if (node_type == "RNIC") return Transport::kIwarp;
  if (node_type != "CA") return Transport::kUnknown;
  if (link_layer == "InfiniBand") return Transport::kInfiniBand;
  return link_layer == "Ethernet" ? Transport::kRoce : Transport::kUnknown;
}

// errno.
int try_access(const files::path& file) {
  return kernel::faccessat(AT_FDCWD, file.c_str(), R_OK | W_OK, AT_EACCESS) == 0 ? 0 : errno;
}

void find_file(SurveyedDevice& device, const SurveyRoots& roots) {
  for (const std::string& opener : names_in(roots.openers)) {
    if (line_of(files::path(roots.openers) / opener / "ibdev") != device.name) continue;
    device.file = (files::path(roots.files) / opener).string();
    device.file_error = try_access(device.file);
    if (device.file_error != 0) return;
    const files::path manager = files::path(roots.files) / "rdma_cm";
    device.file_error = try_access(manager);
    if (device.file_error != 0) device.file = manager.string();
    return;
  }
}

DevicePort port_of(const files::path& device, const std::string& number) {
  const files::path folder = device / "ports" / number;
  DevicePort port;
  port.number = static_cast<unsigned>(std::strtoul(number.c_str(), nullptr, 10));
  port.state = word_of(folder / "state");
  port.physical_state = word_of(folder / "phys_state");
  port.link_layer = word_of(folder / "link_layer");
  port.rate = word_of(folder / "rate");
  return port;
}

bool is_same_address(const sockaddr& one, const sockaddr& other) {
  if (!is_same_host(one, other)) return false;
  if (one.sa_family == AF_INET) return true;
  const std::uint32_t one_scope = reinterpret_cast<const sockaddr_in6&>(one).sin6_scope_id;
  const std::uint32_t other_scope = reinterpret_cast<const sockaddr_in6&>(other).sin6_scope_id;
  return one_scope == 0 || other_scope == 0 || one_scope == other_scope;
}

bool carries(const SurveyedDevice& device, const sockaddr& local) {
  for (const DevicePort& port : device.ports) {
    for (const Interface& interface : port.interfaces) {
      for (const sockaddr_storage& address : interface.addresses) {
        if (is_same_address(*as_sockaddr(address), local)) return true;
      }
    }
  }
  return false;
}

}  // namespace

const char* name_of(Transport transport) noexcept {
  switch (transport) {
    case Transport::kInfiniBand: return "InfiniBand";
    case Transport::kRoce: return "RoCE";
    case Transport::kIwarp: return "iWARP";
    case Transport::kUnknown: break;
  }
  return "unknown";
}

bool SurveyedDevice::is_active() const {
  return std::any_of(ports.begin(), ports.end(), [](const DevicePort& port) { return port.is_active(); });
}

bool any_device(const SurveyRoots& roots) {
  bool any = false;
  look_into(roots.devices, [&](std::string_view) {
    any = true;
    return false;
  });
  return any;
}

Survey::Survey(const SurveyRoots& roots) {
  if (!any_device(roots)) return;
  const auto told = roots.asks_kernel ? port_interfaces() : decltype(port_interfaces()){};
  const InterfaceTable interfaces = all_interfaces();
  for (const std::string& name : names_in(roots.devices)) {
    const files::path folder = files::path(roots.devices) / name;
    SurveyedDevice device;
    device.name = name;
    device.node_type = word_of(folder / "node_type");
    for (const std::string& number : names_in(folder / "ports")) {
      DevicePort port = port_of(folder, number);
      device.transport = transport_of(device.node_type, port.link_layer);
      auto names = interfaces_of(folder, port.number, device.transport);
      if (const auto by_kernel = told.find({name, port.number}); by_kernel != told.end())
        add_name(names, by_kernel->second);
      for (const std::string& each : names) {
        const auto known = interfaces.find(each);
        port.interfaces.push_back(known != interfaces.end() ? known->second : Interface{each, false, {}});
      }
      device.ports.push_back(std::move(port));
    }
    find_file(device, roots);
    devices_.push_back(std::move(device));
  }
}

std::vector<const SurveyedDevice*> Survey::carriers_of(const sockaddr& local) const {
  std::vector<const SurveyedDevice*> carriers;
  for (const SurveyedDevice& device : devices_) {
    if (carries(device, local)) carriers.push_back(&device);
  }
  return carriers;
}

}  // namespace exs::verbs
