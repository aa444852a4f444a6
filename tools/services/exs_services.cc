// exs-services lists the services of this host, where and since when they run. It also pings a service, or asks for its load.
#include <exs/service.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/json.h"
#include "tools/common/run_info.h"
#include "tools/services/directory_check.h"

namespace services {
namespace {

using tools::Json;

constexpr std::int64_t kHolderNs =
    100'000'000;  // to find the process that holds the name of a silent service

struct Settings {
  std::string what;  // a name; or "ping" or "stats"
  std::string name;  // the service to ask
  std::string cap;   // its text, or a file that contains it
  std::string names;
  std::string provider = "auto";
  double limit_seconds = 2;
  bool json = false;
};

[[noreturn]] void fail(const std::string& what) {
  throw tools::Failure(what + ": " + exs_svc_errtext());
}

std::int64_t limit_ns(const Settings& settings) {
  return static_cast<std::int64_t>(settings.limit_seconds * 1e9);
}

// ---------------------------------------------------------------- who is there

struct Service {
  std::string name;
  exs_svc_id_t id{};
  int error = 0;    // ENOENT: no process here is it
  std::string why;  // of another error
  exs_svc_place_t place{};
};

std::string text_of(const exs_svc_id_t& id) {
  std::array<char, EXS_SVC_ID_TEXT> text{};
  exs_svc_id_text(&id, text.data());
  return text.data();
}

std::string path_of_names(const Settings& settings) {
  if (!settings.names.empty()) return settings.names;
  const char* const named = std::getenv("EXS_SERVICES");
  return named != nullptr && *named != '\0' ? named : "/etc/exs/services";
}

exs_svc_id_t find(const Settings& settings, const std::string& name) {
  exs_svc_id_t id{};
  if (exs_svc_find(path_of_names(settings).c_str(), name.c_str(), &id) != 0) fail(name);
  return id;
}

// Returns the names in the file, each once.
std::vector<std::string> all_names(const std::string& path) {
  std::ifstream file(path);
  if (!file) tools::fail(path, errno);
  std::vector<std::string> names;
  exs_svc_id_t id{};
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    if (!(words >> name) || exs_svc_find(path.c_str(), name.c_str(), &id) != 0) continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

// The library's text begins with the function's name, which is left out.
std::string last_sentence() {
  const std::string text = exs_svc_errtext();
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

Service locate(const std::string& name, const exs_svc_id_t& id, std::int64_t limit_ns) {
  Service service{name, id, 0, {}, {}};
  service.place.struct_bytes = sizeof service.place;
  if (exs_svc_locate(&id, limit_ns, &service.place) == 0) return service;
  service.error = errno;
  service.why = last_sentence();
  return service;
}

Service look_for(const Settings& settings, const std::string& name) {
  return locate(name, find(settings, name), limit_ns(settings));
}

// Formats in UTC, as ISO 8601.
std::string date_of(std::int64_t ms) {
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

const char* state_of(const Service& service) {
  switch (service.error) {
    case 0: return "here";
    case ENOENT: return "not here";
    case ETIMEDOUT: return "silent";
    case EPROTO: return "another's";
    default: return "unknown";
  }
}

std::vector<std::string> addresses_of(const exs_svc_place_t& place) {
  return {place.addresses, place.addresses + place.addresses_count};
}

void print(const Service& service) {
  std::printf("%-20s %s %s", service.name.c_str(), text_of(service.id).c_str(), state_of(service));
  if (service.error == 0)
    std::printf(", process %d of user %u, since %s, at", service.place.process, service.place.user,
                date_of(service.place.opened_ms).c_str());
  for (const std::string& address : addresses_of(service.place)) std::printf(" %s", address.c_str());
  if (service.error != 0 && service.error != ENOENT) std::printf(": %s", service.why.c_str());
  std::printf("\n");
}

Json json_of(const Service& service) {
  Json::Object out{{"name", service.name}, {"id", text_of(service.id)}, {"state", state_of(service)}};
  if (service.error != 0) {
    if (service.error != ENOENT) out.emplace_back("why", service.why);
    return out;
  }
  out.emplace_back("process", service.place.process);
  out.emplace_back("user", service.place.user);
  out.emplace_back("opened", date_of(service.place.opened_ms));
  out.emplace_back("instance", std::to_string(service.place.instance));
  out.emplace_back("addresses", tools::array_of(addresses_of(service.place)));
  return out;
}

// A service of the file may be elsewhere, but one given by name should be here.
int list(const Settings& settings) {
  const bool is_one = !settings.what.empty();
  const std::vector<std::string> names =
      is_one ? std::vector{settings.what} : all_names(path_of_names(settings));
  int status = 0;
  Json::Array all;
  for (const std::string& name : names) {
    const Service service = look_for(settings, name);
    if (service.error != 0 && (is_one || service.error != ENOENT)) status = 1;
    if (settings.json)
      all.push_back(json_of(service));
    else
      print(service);
  }
  if (!settings.json) return status;
  Json::Object out = tools::begin_results("exs-services");
  out.emplace_back("services", std::move(all));
  tools::print_json(out);
  return status;
}

// ---------------------------------------------------------------- whether one answers, and how busy it is

// Returns nothing if no capability is given, or if it belongs to another service.
std::optional<exs_svc_cap_t> cap_of(const Settings& settings, const exs_svc_id_t& id) {
  if (settings.cap.empty()) return {};
  std::string text = settings.cap;
  if (text.rfind("exs-cap:", 0) != 0) {
    std::ifstream file(settings.cap);
    if (!(file >> text)) tools::fail(settings.cap, errno != 0 ? errno : EINVAL);
  }
  exs_svc_cap_t cap{};
  if (exs_svc_cap_parse(text.c_str(), &cap) != 0) fail("--cap");
  if (std::memcmp(&cap.id, &id, sizeof id) != 0) return {};
  return cap;
}

struct Answer {
  int error = 0;
  std::uint64_t elapsed_ns = 0;  // of a ping
  exs_svc_stats_t stats{};
};

// Returns the event that answers the question.
Answer ask(const Settings& settings, const exs_svc_id_t& id, int (*question)(exs_svc_peer_t*)) {
  exs_svc_node_options_t options{};
  options.struct_bytes = sizeof options;
  options.find_ns = limit_ns(settings);
  const std::string names = path_of_names(settings);
  options.names = names.c_str();
  const std::unique_ptr<exs_svc_node_t, decltype(&exs_svc_node_close)> node(exs_svc_node_open(&options),
                                                                            exs_svc_node_close);
  if (node == nullptr) fail("cannot open a node");
  const std::optional<exs_svc_cap_t> cap = cap_of(settings, id);
  exs_svc_peer_t* const peer = exs_svc_peer_open(node.get(), nullptr, &id, cap ? &*cap : nullptr, nullptr);
  if (peer == nullptr || question(peer) != 0) fail("cannot ask");
  exs_svc_event_t event{};
  const int count = exs_svc_wait(node.get(), &event, 1, limit_ns(settings) + limit_ns(settings) / 2);
  if (count < 0) fail("cannot wait");
  Answer answer{count == 0 ? ETIMEDOUT : event.error, event.elapsed_ns, {}};
  if (event.message != nullptr) std::memcpy(&answer.stats, event.message->items[0].data, sizeof answer.stats);
  exs_svc_release(event.message);
  return answer;
}

// If a process of this host has the name of the silent service, it is here. Otherwise it is elsewhere, and only its host knows more.
std::string words_of_silence(const exs_svc_id_t& id) {
  const Service here = locate("", id, kHolderNs);
  if (here.error == 0) return "it is there, and its program does not answer";
  return here.error == ENOENT ? "it is on another host, and does not answer" : here.why;
}

std::string words_of_nobody() {
  const std::string why = why_no_directory();
  return why.empty() ? "nobody is the service" : "nobody was found who is the service, and " + why;
}

std::string words_of(int error, const exs_svc_id_t& id) {
  switch (error) {
    case ENOENT: return words_of_nobody();
    case EACCES: return "it does not allow that: --cap gives a capability with the right to";
    case ETIMEDOUT: return words_of_silence(id);
    default: return std::strerror(error);
  }
}

int ping(const Settings& settings) {
  if (settings.name.empty()) throw tools::UsageError("ping needs the name of a service, or its ID");
  const exs_svc_id_t id = find(settings, settings.name);
  const Answer answer = ask(settings, id, exs_svc_ping);
  const double us = std::round(static_cast<double>(answer.elapsed_ns)) / 1000;
  if (answer.error != 0) throw tools::Failure(settings.name + ": " + words_of(answer.error, id));
  if (!settings.json) {
    std::printf("%s answers after %.1f us\n", settings.name.c_str(), us);
    return 0;
  }
  Json::Object out = tools::begin_results("exs-services");
  out.emplace_back("name", settings.name);
  out.emplace_back("elapsed_us", us);
  tools::print_json(out);
  return 0;
}

double seconds_of(const exs_svc_stats_t& stats) {
  return std::round(static_cast<double>(stats.open_ns) / 1e6) / 1e3;
}

void print(const std::string& name, const exs_svc_id_t& id, const Answer& answer) {
  if (answer.error != 0) {
    std::printf("%-20s %s\n", name.c_str(), words_of(answer.error, id).c_str());
    return;
  }
  const exs_svc_stats_t& stats = answer.stats;
  std::printf("%-20s %10.0f %12" PRIu64 " %12" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64
              "\n",
              name.c_str(), seconds_of(stats), stats.messages, stats.replies, stats.mailbox,
              stats.requests_open, stats.flows, stats.windows_free);
}

Json json_of(const std::string& name, const exs_svc_id_t& id, const Answer& answer) {
  Json::Object out{{"name", name}, {"id", text_of(id)}};
  if (answer.error != 0) {
    out.emplace_back("error", words_of(answer.error, id));
    return out;
  }
  const exs_svc_stats_t& stats = answer.stats;
  out.emplace_back("open_s", seconds_of(stats));
  out.emplace_back("messages", stats.messages);
  out.emplace_back("replies", stats.replies);
  out.emplace_back("mailbox", stats.mailbox);
  out.emplace_back("requests_open", stats.requests_open);
  out.emplace_back("flows", stats.flows);
  out.emplace_back("windows_free", stats.windows_free);
  return out;
}

int stats(const Settings& settings) {
  const std::vector<std::string> names =
      settings.name.empty() ? all_names(path_of_names(settings)) : std::vector{settings.name};
  int status = 0;
  Json::Array all;
  if (!settings.json)
    std::printf("%-20s %10s %12s %12s %8s %8s %8s %8s\n", "name", "open (s)", "messages", "replies",
                "mailbox", "requests", "flows", "windows");
  for (const std::string& name : names) {
    const exs_svc_id_t id = find(settings, name);
    const Answer answer = ask(settings, id, exs_svc_stats);
    if (answer.error != 0) status = 1;
    if (settings.json)
      all.push_back(json_of(name, id, answer));
    else
      print(name, id, answer);
  }
  if (!settings.json) return status;
  Json::Object out = tools::begin_results("exs-services");
  out.emplace_back("services", std::move(all));
  tools::print_json(out);
  return status;
}

int run(int argc, char** argv) {
  Settings settings;
  tools::CommandLine line("exs-services",
                          "which services are on this host, whether one answers, or how busy they are");
  line.add("what", settings.what,
           "A name or an ID, or \"ping\" or \"stats\"; without it: all names of the file");
  line.add("name", settings.name,
           "Name or ID of the service to ask; for stats, without it: all names of the file");
  line.add("--names", settings.names, "File of names, in place of EXS_SERVICES or /etc/exs/services");
  line.add("--cap", settings.cap, "Capability to ask with: its text, or a file that has it");
  line.add("--provider", settings.provider, "Of exs, to ask with")
      .one_of({"auto", "iwarp", "shm", "verbs"})
      .shows_default();
  line.add("--timeout", settings.limit_seconds, "Seconds to wait for an answer")
      .between(tools::kSecondsMin, 3600.0)
      .shows_default();
  line.add_json_flag(settings.json);
  line.parse(argc, argv);
  if (settings.provider != "auto") setenv("EXS_PROVIDER", settings.provider.c_str(), 1);
  if (settings.what == "ping") return ping(settings);
  if (settings.what == "stats") return stats(settings);
  if (!settings.name.empty()) throw tools::UsageError("one name, or ping or stats and a name");
  return list(settings);
}

}  // namespace
}  // namespace services

int main(int argc, char** argv) {
  return tools::run_main("exs-services", [&] { return services::run(argc, argv); });
}
