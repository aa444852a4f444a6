// SPDX-License-Identifier: BSD-2-Clause
#include "perf/service_check/holdings.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace service_check {

Holdings Holdings::of_process(pid_t process) {
  const std::string folder = "/proc/" + (process == 0 ? std::string("self") : std::to_string(process));
  Holdings held;
  const std::filesystem::directory_iterator descriptors(folder + "/fd");
  held.descriptors = static_cast<std::size_t>(std::distance(begin(descriptors), end(descriptors)));
  std::ifstream maps(folder + "/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("/memfd:") != std::string::npos) ++held.mappings;
  return held;
}

std::string Holdings::beyond(const Holdings& before) const {
  if (descriptors > before.descriptors)
    return std::to_string(descriptors - before.descriptors) + " descriptors";
  if (mappings > before.mappings) return std::to_string(mappings - before.mappings) + " mappings";
  return {};
}

std::vector<std::string> abstract_names() {
  std::vector<std::string> names;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);)
    if (const std::size_t at = line.find('@'); at != std::string::npos) names.push_back(line.substr(at));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace service_check
