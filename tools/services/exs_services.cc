// exs-services lists the services of this host, where and since when they run. It also asks a service whether it answers and how busy it
// is, and makes messages, requests, keys and capabilities (messages.cc, keys.cc).
// SPDX-License-Identifier: BSD-2-Clause
#include <exs/service.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/json.h"
#include "tools/common/run_info.h"
#include "tools/common/watch.h"
#include "tools/services/services.h"

namespace services {
namespace {

using tools::Json;

// ---------------------------------------------------------------- who is there

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

Service look_for(const Settings& settings, const std::string& name) {
  return locate(name, find(settings, name), limit_ns(settings));
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

struct Answer {
  int error = 0;
  std::uint64_t elapsed_ns = 0;  // of a ping
  exs_svc_stats_t stats{};
};

// Returns the event that answers the question.
Answer ask(const Settings& settings, const exs_svc_id_t& id, int (*question)(exs_svc_peer_t*)) {
  Client client(settings, id);
  if (question(client.peer()) != 0) fail("cannot ask");
  const std::optional<exs_svc_event_t> event = client.wait();
  if (!event) return {ETIMEDOUT, 0, {}};
  Answer answer{event->error, event->elapsed_ns, {}};
  if (event->message != nullptr)
    std::memcpy(&answer.stats, event->message->items[0].data, sizeof answer.stats);
  exs_svc_release(event->message);
  return answer;
}

int ping(const Settings& settings) {
  const std::string& name = settings.words.front();
  const exs_svc_id_t id = find(settings, name);
  const Answer answer = ask(settings, id, exs_svc_ping);
  const double us = std::round(static_cast<double>(answer.elapsed_ns)) / 1000;
  if (answer.error != 0) throw tools::Failure(name + ": " + words_of(answer.error, id));
  if (!settings.json) {
    std::printf("%s answers after %.1f us\n", name.c_str(), us);
    return 0;
  }
  Json::Object out = tools::begin_results("exs-services");
  out.emplace_back("name", name);
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
      settings.words.empty() ? all_names(path_of_names(settings)) : settings.words;
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

// ---------------------------------------------------------------- the commands

struct Command {
  const char* name;
  int (*run)(const Settings& settings);
  const char* first_word;  // what has to follow the command; empty: nothing has to
  std::size_t words_max;
  std::set<std::string> options;  // beside those of all
};

const std::vector<Command>& commands() {
  static const std::set<std::string> asking = {"--names", "--cap", "--provider", "--timeout"};
  static const std::set<std::string> sending = {"--names", "--cap", "--provider", "--timeout", "--hex"};
  static const std::vector<Command> all = {
      {"ping", ping, "the name of a service, or its ID", 1, asking},
      {"stats", stats, "", 1, {"--names", "--cap", "--provider", "--timeout", "--watch"}},
      {"key", make_key, "a new file for the key", 1, {}},
      {"id", print_id, "the file of a key", 1, {}},
      {"capability",
       make_or_print_capability,
       "the file of a key, or a capability",
       1,
       {"--rights", "--serial", "--days"}},
      {"send", send_message, "the name of a service, or its ID", EXS_SVC_ITEMS_MAX + 1, sending},
      {"request", make_request, "the name of a service, or its ID", EXS_SVC_ITEMS_MAX + 1, sending}};
  return all;
}

const Command& command_of(const std::string& what) {
  static const Command listing{"without a command", list, "", 0, {"--names", "--timeout", "--watch"}};
  const auto found = std::find_if(commands().begin(), commands().end(),
                                  [&](const Command& command) { return command.name == what; });
  return found == commands().end() ? listing : *found;
}

void refuse_what_makes_no_sense(const Command& command, const Settings& settings,
                                const std::map<std::string, tools::Option>& options) {
  const std::string name = command.name;
  if (*command.first_word != '\0' && settings.words.empty())
    throw tools::UsageError(name + " needs " + command.first_word);
  if (settings.words.size() > command.words_max)
    throw tools::UsageError(name + ": \"" + settings.words[command.words_max] + "\" is one word too many");
  for (const auto& [option, given] : options)
    if (given.is_given() && !command.options.contains(option))
      throw tools::UsageError(option + " does not belong to " +
                              (settings.what.empty() ? "the list of services" : "\"" + settings.what + "\""));
}

int run(int argc, char** argv) {
  Settings settings;
  tools::CommandLine line("exs-services", "list services of this host, and try services on any host");
  std::map<std::string, tools::Option> options;
  line.add("what", settings.what,
           "A command: ping, stats, send, request, key, id or capability; or the name or ID of a service to "
           "locate. Without it: locate all names of the file");
  line.add("words", settings.words,
           "ping, stats: the name or ID of a service; stats alone: all names of the file. send, request: the "
           "same, then the items of the message. key, id: the file of a key. capability: the same, or a "
           "capability to print");
  line.group("Asking");
  options.emplace("--names", line.add("--names", settings.names,
                                      "File of names, in place of EXS_SERVICES or /etc/exs/services")
                                 .value_name("FILE"));
  options.emplace("--cap", line.add("--cap", settings.cap, "Capability to use: its text, or a file with it")
                               .value_name("CAPABILITY"));
  options.emplace("--provider", line.add("--provider", settings.provider, "Provider of exs to use")
                                    .one_of({"auto", "iwarp", "shm", "verbs"})
                                    .shows_default());
  options.emplace("--timeout", line.add("--timeout", settings.limit_seconds, "Time limit of an answer")
                                   .between(tools::kSecondsMin, 3600.0)
                                   .value_name("SECONDS")
                                   .shows_default());
  line.group("Messages, capabilities and output");
  options.emplace("--hex", line.add_flag("--hex", settings.hex,
                                         "send, request: items are hexadecimal digits, given and printed"));
  options.emplace("--rights", line.add("--rights", settings.rights,
                                       "capability: all, or of send, stats, request, long and return, with "
                                       "commas between them")
                                  .value_name("RIGHTS")
                                  .shows_default());
  options.emplace("--serial", line.add("--serial", settings.serial, "capability: its serial number")
                                  .value_name("NUMBER")
                                  .shows_default());
  options.emplace("--days",
                  line.add("--days", settings.days, "capability: it expires after so many; 0: never")
                      .between(0.0, 36500.0)
                      .value_name("DAYS")
                      .shows_default());
  options.emplace("--watch",
                  line.add_flag("--watch", settings.watch,
                                "Without a command, and stats: print again each second, until SIGINT"));
  line.add_json_flag(settings.json);
  line.parse(argc, argv);
  const Command& command = command_of(settings.what);
  refuse_what_makes_no_sense(command, settings, options);
  if (settings.provider != "auto") setenv("EXS_PROVIDER", settings.provider.c_str(), 1);
  if (settings.watch) return tools::watch([&] { command.run(settings); });
  return command.run(settings);
}

}  // namespace
}  // namespace services

int main(int argc, char** argv) {
  return tools::run_main("exs-services", [&] { return services::run(argc, argv); });
}
