// exs-services: which services are on this host, where and since when; and whether one answers.
#include <exs/service.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/json.h"
#include "tools/common/run_info.h"

namespace services {
namespace {

using tools::Json;

struct Settings {
  std::string what;  // a name; or "ping"
  std::string name;  // to be pinged
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
  int error = 0;  // ENOENT: nobody here is it
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
  return named != nullptr ? named : "/etc/exs/services";
}

exs_svc_id_t find(const Settings& settings, const std::string& name) {
  exs_svc_id_t id{};
  if (exs_svc_find(path_of_names(settings).c_str(), name.c_str(), &id) != 0) fail(name);
  return id;
}

// The names of the file, each once.
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

Service look_for(const Settings& settings, const std::string& name) {
  Service service{name, find(settings, name), 0, {}};
  service.place.struct_bytes = sizeof service.place;
  if (exs_svc_locate(&service.id, limit_ns(settings), &service.place) != 0) service.error = errno;
  return service;
}

// In UTC, as ISO 8601 has it.
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
  std::printf("\n");
}

Json json_of(const Service& service) {
  Json::Object out{{"name", service.name}, {"id", text_of(service.id)}, {"state", state_of(service)}};
  if (service.error != 0) return out;
  out.emplace_back("process", service.place.process);
  out.emplace_back("user", service.place.user);
  out.emplace_back("opened", date_of(service.place.opened_ms));
  out.emplace_back("instance", std::to_string(service.place.instance));
  out.emplace_back("addresses", tools::array_of(addresses_of(service.place)));
  return out;
}

// A service of the file may be elsewhere; one that was asked for is to be here.
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

// ---------------------------------------------------------------- whether one answers

// The event of a ping that has an end.
exs_svc_event_t ping(const Settings& settings, const exs_svc_id_t& id) {
  exs_svc_node_options_t options{};
  options.struct_bytes = sizeof options;
  options.find_ns = limit_ns(settings);
  const std::string names = path_of_names(settings);
  options.names = names.c_str();
  const std::unique_ptr<exs_svc_node_t, decltype(&exs_svc_node_close)> node(exs_svc_node_open(&options),
                                                                            exs_svc_node_close);
  if (node == nullptr) fail("cannot open a node");
  exs_svc_peer_t* const peer = exs_svc_peer_open(node.get(), nullptr, &id, nullptr, nullptr);
  if (peer == nullptr || exs_svc_ping(peer) != 0) fail("cannot ping");
  exs_svc_event_t event{};
  const int count = exs_svc_wait(node.get(), &event, 1, limit_ns(settings) + limit_ns(settings) / 2);
  if (count < 0) fail("cannot wait");
  if (count == 0) event.error = ETIMEDOUT;
  return event;
}

const char* words_of(int error) {
  switch (error) {
    case ENOENT: return "nobody is the service";
    case EACCES: return "it does not allow pings";
    case ETIMEDOUT: return "it is there, and its program does not answer";
    default: return std::strerror(error);
  }
}

int ping(const Settings& settings) {
  if (settings.name.empty()) throw tools::UsageError("ping needs the name of a service, or its ID");
  const exs_svc_event_t event = ping(settings, find(settings, settings.name));
  const double us = std::round(static_cast<double>(event.elapsed_ns)) / 1000;
  if (event.error != 0) throw tools::Failure(settings.name + ": " + words_of(event.error));
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

int run(int argc, char** argv) {
  Settings settings;
  tools::CommandLine line("exs-services", "which services are on this host, or whether one answers");
  line.add("what", settings.what, "A name or an ID, or \"ping\"; without it: all names of the file");
  line.add("name", settings.name, "Name or ID of the service to ping");
  line.add("--names", settings.names, "File of names, in place of EXS_SERVICES or /etc/exs/services");
  line.add("--provider", settings.provider, "Of exs, for a ping")
      .one_of({"auto", "iwarp", "shm", "verbs"})
      .shows_default();
  line.add("--timeout", settings.limit_seconds, "Seconds to wait for an answer")
      .between(tools::kSecondsMin, 3600.0)
      .shows_default();
  line.add_json_flag(settings.json);
  line.parse(argc, argv);
  if (settings.provider != "auto") setenv("EXS_PROVIDER", settings.provider.c_str(), 1);
  if (settings.what == "ping") return ping(settings);
  if (!settings.name.empty()) throw tools::UsageError("one name, or ping and a name");
  return list(settings);
}

}  // namespace
}  // namespace services

int main(int argc, char** argv) {
  return tools::run_main("exs-services", [&] { return services::run(argc, argv); });
}
