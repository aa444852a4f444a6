// SPDX-License-Identifier: BSD-2-Clause
#include "tools/explain/report.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "tools/common/json.h"
#include "tools/common/sockets.h"
#include "tools/common/units.h"

namespace explain {
namespace {

using tools::Json;

constexpr const char* kDetailIndent = "                   ";
constexpr const char* kCureIndent = "                   cure: ";

std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> parts;
  std::istringstream stream(names);
  for (std::string part; std::getline(stream, part, ',');) {
    const std::size_t begin = part.find_first_not_of(' ');
    if (begin != std::string::npos) parts.push_back(part.substr(begin));
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

Json::Object json_of(const CheckResult& result) {
  Json::Object object{{"verdict", name_of(result.verdict)},
                      {"text", result.text},
                      {"concerns", tools::array_of(result.concerns)}};
  if (result.reason != exs::ReasonCode::kNone) {
    object.emplace_back("reason", exs::reason_name(result.reason));
    object.emplace_back("code", static_cast<int>(result.reason));
    object.emplace_back("cure", exs::reason_cure(result.reason));
  }
  object.insert(object.end(), result.values.begin(), result.values.end());
  return object;
}

Json::Object begin_json() {
  return {{"tool", "exs-explain"}, {"version", exs_version_string()}, {"schema", 1}};
}

const char* verdict_of(const exs_reason_t& reason) {
  switch (reason.verdict) {
    case EXS_VERDICT_USED: return "used";
    case EXS_VERDICT_LIMITED: return "limited";
    case EXS_VERDICT_REFUSED: return "refused";
    default: return "unknown";
  }
}

void print_text(const exs_reason_t& reason) {
  std::string line = tools::format("%-8s %-8s", reason.provider, verdict_of(reason));
  if (reason.code != 0) line += tools::format(" %s", reason.name);
  if (reason.told_by_peer != 0) line += " (says the peer)";
  if (reason.fact[0] != '\0') line += (reason.code != 0 ? ": " : " ") + std::string(reason.fact);
  line.resize(line.find_last_not_of(' ') + 1);
  std::printf("%s\n", line.c_str());
  if (reason.cure[0] != '\0') std::printf("%s%s\n", kCureIndent, reason.cure);
}

Json::Object json_of(const exs_reason_t& reason) {
  return {{"provider", reason.provider},
          {"verdict", verdict_of(reason)},
          {"code", reason.code},
          {"reason", reason.name},
          {"told_by_peer", reason.told_by_peer != 0},
          {"fact", reason.fact},
          {"cure", reason.cure}};
}

bool works(const std::string& provider, const Machine& machine) {
  return std::none_of(machine.results.begin(), machine.results.end(), [&](const CheckResult& result) {
    return result.verdict == Verdict::missing &&
           std::find(result.concerns.begin(), result.concerns.end(), provider) != result.concerns.end();
  });
}

// Returns the providers of this build that work here, or those that do not.
std::vector<std::string> providers_of(const Machine& machine, bool that_work) {
  std::vector<std::string> names = split(machine.providers);
  names.erase(std::remove_if(names.begin(), names.end(),
                             [&](const std::string& name) { return works(name, machine) != that_work; }),
              names.end());
  return names;
}

}  // namespace

bool is_usable(const Machine& machine) {
  return !providers_of(machine, true).empty();
}

void print(const Machine& machine, bool json) {
  if (json) {
    Json::Object object = begin_json();
    object.emplace_back("providers", tools::array_of(split(machine.providers)));
    object.emplace_back("working", tools::array_of(providers_of(machine, true)));
    Json::Object results;
    for (const CheckResult& result : machine.results) results.emplace_back(result.name, json_of(result));
    object.emplace_back("machine", results);
    object.emplace_back("well", is_usable(machine));
    tools::print_json(object);
    return;
  }
  const std::string idle = joined(providers_of(machine, false));
  std::printf("exs %s, providers: %s%s\n", exs_version_string(), joined(split(machine.providers)).c_str(),
              idle.empty() ? "" : (" (not to be had here: " + idle + ")").c_str());
  for (const CheckResult& result : machine.results) {
    const std::string concerns = result.concerns.empty() ? "" : " [" + joined(result.concerns) + "]";
    std::printf("%-18s %-8s %s%s\n", result.name.c_str(), name_of(result.verdict), result.text.c_str(),
                concerns.c_str());
    for (const std::string& detail : result.details) std::printf("%s%s\n", kDetailIndent, detail.c_str());
    if (const char* cure = exs::reason_cure(result.reason); *cure != '\0')
      std::printf("%s%s\n", kCureIndent, cure);
  }
}

void print(const ConnectResult& connected, const std::string& target, bool json) {
  if (json) {
    Json::Object object = begin_json();
    object.emplace_back("target", target);
    object.emplace_back("address", connected.address);
    object.emplace_back("connected", connected.error == 0);
    object.emplace_back("error", connected.error == 0 ? "" : std::strerror(connected.error));
    object.emplace_back("errno", connected.error);
    object.emplace_back("error_text", connected.words);
    object.emplace_back("provider", connected.provider);
    object.emplace_back("connect_seconds", connected.connect_seconds);
    Json::Array reasons;
    for (const exs_reason_t& reason : connected.reasons) reasons.emplace_back(json_of(reason));
    object.emplace_back("reasons", reasons);
    tools::print_json(object);
    return;
  }
  if (connected.error == 0) {
    constexpr double kMsPerSecond = 1000;
    std::printf("%s: connected in %.2f ms, carried by %s\n", connected.address.c_str(),
                connected.connect_seconds * kMsPerSecond, connected.provider.c_str());
  } else if (connected.error == EINTR) {
    std::printf("%s: no connection after %.2f s, interrupted\n", connected.address.c_str(),
                connected.connect_seconds);
  } else {
    std::printf("%s: no connection: %s\n", connected.address.c_str(), std::strerror(connected.error));
    if (tools::is_about_address(connected.error)) {
      std::printf("%sno provider is to blame: start the server, or look for its address and port\n",
                  kCureIndent);
      return;
    }
    if (!tools::is_for_want_of_provider(connected.error, connected.reasons)) {
      if (!connected.words.empty()) std::printf("%s%s\n", kDetailIndent, connected.words.c_str());
      return;
    }
  }
  for (const exs_reason_t& reason : connected.reasons) print_text(reason);
}

}  // namespace explain
