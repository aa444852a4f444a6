// RDMA devices and the state of their ports, as /sys tells them.
#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "perf/explain/kernel.h"
#include "perf/explain/machine.h"
#include "perf/support/units.h"

namespace explain {
namespace {

namespace files = std::filesystem;

const files::path kDevices = "/sys/class/infiniband";

std::vector<std::string> names_in(const files::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : files::directory_iterator(folder, error))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// "4: ACTIVE" -> "ACTIVE".
std::string word_of(const files::path& file) {
  const std::string line = first_line(file.string()).value_or("unknown");
  const std::size_t colon = line.find(": ");
  return colon == std::string::npos ? line : line.substr(colon + 2);
}

Fact no_device() {
  Fact fact("rdma");
  fact.verdict = Verdict::missing;
  const bool loaded = files::exists("/sys/module/ib_core") || files::exists("/sys/class/infiniband_verbs");
  fact.text = loaded ? "no device (the kernel module ib_core is there)"
                     : "no device and no kernel module (ib_core is not loaded)";
  fact.values = {{"kernel_module", loaded}, {"ports", nlohmann::json::array()}};
  fact.reason = exs::ReasonCode::kNoDevice;
  fact.concerns = {"verbs"};
  return fact;
}

}  // namespace

Fact look_at_rdma() {
  const auto devices = names_in(kDevices);
  if (devices.empty()) return no_device();
  Fact fact("rdma");
  fact.verdict = Verdict::missing;
  nlohmann::ordered_json ports = nlohmann::json::array();
  for (const std::string& device : devices) {
    for (const std::string& port : names_in(kDevices / device / "ports")) {
      const files::path folder = kDevices / device / "ports" / port;
      const std::string state = word_of(folder / "state");
      const std::string link = word_of(folder / "link_layer");
      const std::string rate = word_of(folder / "rate");
      if (state == "ACTIVE") fact.verdict = Verdict::ok;
      if (!fact.text.empty()) fact.text += "; ";
      fact.text += perf::text("%s port %s %s, %s, %s", device.c_str(), port.c_str(), state.c_str(),
                              link.c_str(), rate.c_str());
      ports.push_back(
          {{"device", device}, {"port", port}, {"state", state}, {"link_layer", link}, {"rate", rate}});
    }
  }
  fact.values = {{"kernel_module", true}, {"ports", ports}};
  fact.concerns = {"verbs"};
  if (fact.verdict != Verdict::ok) fact.reason = exs::ReasonCode::kPortDown;
  return fact;
}

}  // namespace explain
