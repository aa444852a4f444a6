// RDMA devices, the state of their ports, and the reason why one would not be chosen.
// SPDX-License-Identifier: BSD-2-Clause
#include <netdb.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "src/provider/verbs/survey.h"
#include "tools/common/units.h"
#include "tools/explain/machine.h"

namespace explain {
namespace {

using exs::verbs::DevicePort;
using exs::verbs::Interface;
using exs::verbs::SurveyedDevice;
using tools::Json;

std::string in_numbers(const sockaddr_storage& address) {
  char host[NI_MAXHOST];
  const socklen_t length = address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host, sizeof host, nullptr, 0,
                    NI_NUMERICHOST) != 0) {
    return "unknown address";
  }
  return host;
}

std::string text_of(const Interface& interface) {
  std::string text = interface.name + (interface.is_up ? "" : " (down)");
  for (const sockaddr_storage& address : interface.addresses) text += " " + in_numbers(address);
  return text;
}

// "mlx5_0 port 1: RoCE, ACTIVE, 100 Gb/sec (4X EDR), eth0 192.0.2.1".
std::string text_of(const SurveyedDevice& device, const DevicePort& port) {
  std::string text = tools::format("%s port %u: %s, %s, %s", device.name.c_str(), port.number,
                                   name_of(device.transport), port.state.c_str(), port.rate.c_str());
  for (const Interface& interface : port.interfaces) text += ", " + text_of(interface);
  return text;
}

Json::Object json_of(const Interface& interface) {
  Json::Array addresses;
  for (const sockaddr_storage& address : interface.addresses) addresses.emplace_back(in_numbers(address));
  return {{"name", interface.name}, {"up", interface.is_up}, {"addresses", addresses}};
}

Json::Object json_of(const DevicePort& port) {
  Json::Array interfaces;
  for (const Interface& interface : port.interfaces) interfaces.emplace_back(json_of(interface));
  return {{"port", port.number},           {"state", port.state}, {"physical_state", port.physical_state},
          {"link_layer", port.link_layer}, {"rate", port.rate},   {"interfaces", interfaces}};
}

Json::Object json_of(const SurveyedDevice& device) {
  Json::Array ports;
  for (const DevicePort& port : device.ports) ports.emplace_back(json_of(port));
  Json::Object object{{"device", device.name},
                      {"node_type", device.node_type},
                      {"transport", name_of(device.transport)},
                      {"ports", ports}};
  if (const exs::Reason reason = why_not(device); reason.code != exs::ReasonCode::kNone) {
    object.emplace_back("reason", exs::reason_name(reason.code));
    object.emplace_back("code", static_cast<int>(reason.code));
    object.emplace_back("fact", reason.fact);
    object.emplace_back("cure", exs::reason_cure(reason.code));
  }
  return object;
}

void add_details(CheckResult& result, const SurveyedDevice& device) {
  for (const DevicePort& port : device.ports) result.details.push_back(text_of(device, port));
  const exs::Reason reason = why_not(device);
  if (reason.code == exs::ReasonCode::kNone) return;
  result.details.push_back(tools::format("%s is not used: %s: %s", device.name.c_str(),
                                         exs::reason_name(reason.code), reason.fact));
}

}  // namespace

CheckResult check_rdma() {
  const exs::verbs::Survey survey;
  const bool is_loaded = std::filesystem::exists("/sys/class/infiniband");
  CheckResult result("rdma");
  result.concerns = {"verbs"};
  Json::Array devices;
  std::size_t usable = 0;
  for (const SurveyedDevice& device : survey.devices()) {
    add_details(result, device);
    devices.emplace_back(json_of(device));
    usable += why_not(device).code == exs::ReasonCode::kNone ? 1 : 0;
  }
  result.values = {{"kernel_module", is_loaded}, {"devices", devices}};
  const exs::Reason reason = survey.why_not();
  if (reason.code != exs::ReasonCode::kNone) {
    result.verdict = Verdict::missing;
    result.reason = reason.code;
  }
  if (survey.devices().empty()) {
    result.text = is_loaded ? "no device (the kernel module ib_core is there)"
                            : "no device and no kernel module (ib_core is not loaded)";
  } else {
    result.text = usable > 0
                      ? tools::format("%zu of %zu devices can be used", usable, survey.devices().size())
                      : std::string(reason.fact);
  }
  return result;
}

}  // namespace explain
