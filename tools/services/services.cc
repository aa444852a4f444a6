// SPDX-License-Identifier: BSD-2-Clause
#include "tools/services/services.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>

#include "tools/common/date.h"
#include "tools/common/failure.h"
#include "tools/services/directory_check.h"

namespace services {
namespace {

// To find the process that holds the name of a silent service.
constexpr std::int64_t kHolderNs = 100'000'000;
constexpr std::int64_t kLateEventNs = 2'000'000'000;
constexpr const char* kCapPrefix = "exs-cap:";

// The library's text begins with the function's name, which is left out.
std::string last_sentence() {
  const std::string text = exs_svc_errtext();
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

// Returns nothing if no capability is given, or if it belongs to another service.
std::optional<exs_svc_cap_t> cap_of(const Settings& settings, const exs_svc_id_t& id) {
  if (settings.cap.empty()) return {};
  const std::optional<std::string> text = cap_text_of(settings.cap);
  if (!text) tools::fail(settings.cap, errno != 0 ? errno : EINVAL);
  exs_svc_cap_t cap{};
  if (exs_svc_cap_parse(text->c_str(), &cap) != 0) fail("--cap");
  if (std::memcmp(&cap.id, &id, sizeof id) != 0) return {};
  return cap;
}

exs_svc_node_t* open_node(const Settings& settings) {
  exs_svc_node_options_t options{};
  options.struct_bytes = sizeof options;
  options.find_ns = limit_ns(settings);
  const std::string names = path_of_names(settings);
  options.names = names.c_str();
  exs_svc_node_t* const node = exs_svc_node_open(&options);
  if (node == nullptr) fail("cannot open a node");
  return node;
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

}  // namespace

void fail(const std::string& what) {
  throw tools::Failure(what + ": " + exs_svc_errtext());
}

std::int64_t limit_ns(const Settings& settings) {
  return static_cast<std::int64_t>(settings.limit_seconds * 1e9);
}

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

std::string date_of(std::int64_t ms) {
  return tools::date_of(static_cast<std::time_t>(ms / 1000));
}

std::optional<std::string> cap_text_of(const std::string& given) {
  if (given.starts_with(kCapPrefix)) return given;
  std::ifstream file(given);
  std::string text;
  file >> text;
  return text.starts_with(kCapPrefix) ? std::optional(text) : std::nullopt;
}

Service locate(const std::string& name, const exs_svc_id_t& id, std::int64_t limit_ns) {
  Service service{name, id, 0, {}, {}};
  service.place.struct_bytes = sizeof service.place;
  if (exs_svc_locate(&id, limit_ns, &service.place) == 0) return service;
  service.error = errno;
  service.why = last_sentence();
  return service;
}

std::string words_of(int error, const exs_svc_id_t& id) {
  switch (error) {
    case ENOENT: return words_of_nobody();
    case EACCES: return "it does not allow that: --cap gives a capability with the right to";
    case ETIMEDOUT: return words_of_silence(id);
    case EOWNERDEAD: return "its process has ended, and may have done it";
    case ECANCELED: return "it has ended the request without a reply";
    case ENOBUFS: return "it has no room for the message, or this process has no room for the reply";
    default: return std::strerror(error);
  }
}

Client::Client(const Settings& settings, const exs_svc_id_t& id)
    : node_(open_node(settings), exs_svc_node_close),
      id_(id),
      wait_ns_(limit_ns(settings) + limit_ns(settings) / 2) {
  const std::optional<exs_svc_cap_t> cap = cap_of(settings, id);
  peer_ = exs_svc_peer_open(node_.get(), nullptr, &id, cap ? &*cap : nullptr, nullptr);
  if (peer_ == nullptr) fail("cannot ask");
}

std::optional<exs_svc_event_t> Client::wait() {
  exs_svc_event_t event{};
  const auto wait_for = [&](std::int64_t time_ns) {
    const int count = exs_svc_wait(node_.get(), &event, 1, time_ns);
    if (count < 0) fail("cannot wait");
    return count > 0;
  };
  if (wait_for(wait_ns_)) return event;
  if (locate("", id_, kHolderNs).error != ENOENT || !wait_for(kLateEventNs)) return {};
  return event;
}

std::int64_t Client::longest_wait_ns() const {
  return wait_ns_ + kHolderNs + kLateEventNs;
}

}  // namespace services
