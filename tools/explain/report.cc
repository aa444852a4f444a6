#include "tools/explain/report.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "tools/common/units.h"

namespace explain {
namespace {

using Json = nlohmann::ordered_json;

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

Json json_of(const Fact& fact) {
  Json object{{"verdict", name_of(fact.verdict)}, {"text", fact.text}, {"concerns", fact.concerns}};
  if (fact.reason != exs::ReasonCode::kNone) {
    object["reason"] = exs::reason_name(fact.reason);
    object["code"] = static_cast<int>(fact.reason);
    object["cure"] = exs::reason_cure(fact.reason);
  }
  object.update(fact.values);
  return object;
}

Json begin_json() {
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
  std::string line = tools::text("%-8s %-8s", reason.provider, verdict_of(reason));
  if (reason.code != 0) line += tools::text(" %s", reason.name);
  if (reason.told_by_peer != 0) line += " (says the peer)";
  if (reason.fact[0] != '\0') line += (reason.code != 0 ? ": " : " ") + std::string(reason.fact);
  line.resize(line.find_last_not_of(' ') + 1);
  std::printf("%s\n", line.c_str());
  if (reason.cure[0] != '\0') std::printf("%s%s\n", kCureIndent, reason.cure);
}

Json json_of(const exs_reason_t& reason) {
  return {{"provider", reason.provider},
          {"verdict", verdict_of(reason)},
          {"code", reason.code},
          {"reason", reason.name},
          {"told_by_peer", reason.told_by_peer != 0},
          {"fact", reason.fact},
          {"cure", reason.cure}};
}

bool works(const std::string& provider, const Machine& machine) {
  return std::none_of(machine.facts.begin(), machine.facts.end(), [&](const Fact& fact) {
    return fact.verdict == Verdict::missing &&
           std::find(fact.concerns.begin(), fact.concerns.end(), provider) != fact.concerns.end();
  });
}

// Those of this build that work here, or those that do not.
std::vector<std::string> providers_of(const Machine& machine, bool that_work) {
  std::vector<std::string> names = split(machine.providers);
  names.erase(std::remove_if(names.begin(), names.end(),
                             [&](const std::string& name) { return works(name, machine) != that_work; }),
              names.end());
  return names;
}

}  // namespace

bool is_well(const Machine& machine) {
  return !providers_of(machine, true).empty();
}

void print(const Machine& machine, bool json) {
  if (json) {
    Json object = begin_json();
    object["providers"] = split(machine.providers);
    object["working"] = providers_of(machine, true);
    Json facts = Json::object();
    for (const Fact& fact : machine.facts) facts[fact.name] = json_of(fact);
    object["machine"] = facts;
    object["well"] = is_well(machine);
    std::printf("%s\n", object.dump(2).c_str());
    return;
  }
  const std::string idle = joined(providers_of(machine, false));
  std::printf("exs %s, providers: %s%s\n", exs_version_string(), joined(split(machine.providers)).c_str(),
              idle.empty() ? "" : (" (not to be had here: " + idle + ")").c_str());
  for (const Fact& fact : machine.facts) {
    const std::string concerns = fact.concerns.empty() ? "" : " [" + joined(fact.concerns) + "]";
    std::printf("%-18s %-8s %s%s\n", fact.name.c_str(), name_of(fact.verdict), fact.text.c_str(),
                concerns.c_str());
    for (const std::string& detail : fact.details) std::printf("%s%s\n", kDetailIndent, detail.c_str());
    if (const char* cure = exs::reason_cure(fact.reason); *cure != '\0')
      std::printf("%s%s\n", kCureIndent, cure);
  }
}

void print(const Connected& connected, const std::string& target, bool json) {
  if (json) {
    Json object = begin_json();
    object["target"] = target;
    object["address"] = connected.address;
    object["connected"] = connected.error == 0;
    object["error"] = connected.error == 0 ? "" : std::strerror(connected.error);
    object["errno"] = connected.error;
    object["provider"] = connected.provider;
    object["connect_seconds"] = connected.connect_seconds;
    object["reasons"] = Json::array();
    for (const exs_reason_t& reason : connected.reasons) object["reasons"].push_back(json_of(reason));
    std::printf("%s\n", object.dump(2).c_str());
    return;
  }
  if (connected.error == 0) {
    constexpr double kMsPerSecond = 1000;
    std::printf("%s: connected in %.2f ms, carried by %s\n", connected.address.c_str(),
                connected.connect_seconds * kMsPerSecond, connected.provider.c_str());
  } else {
    std::printf("%s: no connection: %s\n", connected.address.c_str(), std::strerror(connected.error));
  }
  for (const exs_reason_t& reason : connected.reasons) print_text(reason);
}

}  // namespace explain
