// The functions of exs/service.h for nodes, services, peers and messages.
// SPDX-License-Identifier: BSD-2-Clause
#include "exs/service.h"

#include <cerrno>
#include <cstring>

#include "service/api/calls.h"
#include "service/names/address.h"
#include "service/names/directory_wire.h"
#include "service/names/setting.h"
#include "service/node/node.h"

namespace {

using exs::svc::guarded;
using exs::svc::refuse;

constexpr std::int64_t kFindNs = 2'000 * exs::svc::kNsPerMs;
constexpr std::int64_t kSilentMinNs = 10 * exs::svc::kNsPerMs;
constexpr std::int64_t kSilentMaxNs = 3'600'000 * exs::svc::kNsPerMs;
constexpr std::int64_t kSilentNs = 600 * exs::svc::kNsPerMs;
// Limits come in pairs: for all principals together, and for each.
constexpr std::uint32_t kLinks = 1024;
constexpr std::uint32_t kLinksEach = 256;
constexpr std::uint32_t kMailbox = 1024;
constexpr std::uint32_t kMailboxEach = 256;
constexpr std::uint64_t kMemory = std::uint64_t{256} << 20;
constexpr std::uint64_t kMemoryEach = std::uint64_t{64} << 20;
constexpr std::uint64_t kReplyMemory = std::uint64_t{64} << 20;
constexpr std::uint32_t kFlows = 64;
constexpr std::int64_t kMoveFindNs = 500 * exs::svc::kNsPerMs;
constexpr std::int64_t kMoveLimitNs = 5'000 * exs::svc::kNsPerMs;
template <typename Number>
Number or_default(Number value, Number otherwise) {
  return value == 0 ? otherwise : value;
}

// A program that sets the limit for all, and none for each, gets the same limit for each.
template <typename Number>
Number of_each(Number each, Number all, Number otherwise) {
  return each != 0 ? each : or_default(all, otherwise);
}

const char* default_listen() {
  const char* const named = exs::svc::setting("EXS_SVC_LISTEN");
  return named != nullptr ? named : "127.0.0.1";
}

constexpr std::uint32_t kAllWays =
    EXS_SVC_BY_HOST | EXS_SVC_BY_FILE | EXS_SVC_BY_DIRECTORY | EXS_SVC_BY_MULTICAST;

// Returns the option, else the variable, else an empty text.
const char* said(const char* option, const char* variable) {
  const char* const text = option != nullptr ? option : variable;
  return text != nullptr ? text : "";
}

// Returns NULL, or the reason why the options are invalid.
const char* read_ways(const exs_svc_node_options_t& options, exs::svc::Ways& ways) {
  if ((options.find_by & ~kAllWays) != 0) return "find_by has bits that mean nothing";
  const std::uint32_t by = options.find_by == 0 ? kAllWays : options.find_by;
  ways.by_host = (by & EXS_SVC_BY_HOST) != 0;
  if ((by & EXS_SVC_BY_FILE) != 0)
    ways.names_path = options.names == nullptr ? exs::svc::NamesFile::default_path() : options.names;
  const auto multicast =
      exs::svc::parse_multicast(said(options.multicast, exs::svc::setting("EXS_SVC_MULTICAST")));
  if (!multicast)
    return "multicast (EXS_SVC_MULTICAST) is to be off, or names of interfaces, and perhaps :port";
  const std::string_view directory = said(options.directory, exs::svc::setting("EXS_SVC_DIRECTORY"));
  const auto address = exs::svc::parse_address(directory);
  if (!directory.empty() && !address)
    return "directory (EXS_SVC_DIRECTORY) is to be an address, or address:port";
  if ((by & EXS_SVC_BY_DIRECTORY) != 0 && address)
    ways.directory =
        exs::svc::port_of(*address) != 0 ? *address : exs::svc::with_port(*address, exs::svc::kDirectoryPort);
  if ((by & EXS_SVC_BY_MULTICAST) != 0 && multicast->is_on) ways.multicast = *multicast;
  return nullptr;
}

}  // namespace

struct exs_svc_node final : exs::svc::Node {
  using Node::Node;
};

const char* exs_svc_errtext() {
  return exs::svc::error_text();
}

// ---------------------------------------------------------------- nodes

exs_svc_node_t* exs_svc_node_open(const exs_svc_node_options_t* given) {
  exs_svc_node_options_t options{};
  const bool is_read = exs::svc::read_options(given, options);
  const char* const listen = options.listen != nullptr ? options.listen : default_listen();
  const std::optional<sockaddr_storage> address = exs::svc::parse_address(listen);
  const bool is_long =
      options.silent_ns == 0 || (options.silent_ns >= kSilentMinNs && options.silent_ns <= kSilentMaxNs);
  if (!is_read || !address || options.find_ns < 0 || !is_long) {
    refuse(EINVAL, "exs_svc_node_open: %s",
           !is_read   ? "struct_bytes is to be the size of the options"
           : !address ? "listen is to be an address, or address:port"
           : !is_long ? "silent_ns is to be 10 ms to 1 hour"
                      : "find_ns is negative");
    return nullptr;
  }
  return guarded<exs_svc_node_t*>(nullptr, [&]() -> exs_svc_node_t* {
    exs::svc::Ways ways;
    if (const char* const wrong = read_ways(options, ways); wrong != nullptr) {
      refuse(EINVAL, "exs_svc_node_open: %s", wrong);
      return nullptr;
    }
    const exs::svc::Node::Config config{
        *address,
        or_default(options.find_ns, kFindNs),
        static_cast<int>(or_default(options.silent_ns, kSilentNs) / exs::svc::kNsPerMs),
        or_default(options.links_max, kLinks),
        of_each(options.links_each_max, options.links_max, kLinksEach),
        or_default(options.flows_max, kFlows),
        or_default(options.memory_max, kReplyMemory),
        std::move(ways)};
    auto node = std::make_unique<exs_svc_node>(config);
    const int error = node->open();
    if (error == 0) return node.release();
    refuse(error, "exs_svc_node_open: %s: %s", listen,
           node->why().empty() ? std::strerror(error) : node->why().c_str());
    return nullptr;
  });
}

void exs_svc_node_close(exs_svc_node_t* node) {
  delete node;
}

int exs_svc_node_fd(exs_svc_node_t* node) {
  if (node == nullptr) return refuse(EINVAL, "exs_svc_node_fd: no node");
  return guarded(-1, [&] {
    const int descriptor = node->descriptor();
    return descriptor >= 0 ? descriptor : refuse(errno, "exs_svc_node_fd: %s", std::strerror(errno));
  });
}

int exs_svc_wait(exs_svc_node_t* node, exs_svc_event_t* events, int max, int64_t timeout_ns) {
  if (node == nullptr || events == nullptr || max < 1)
    return refuse(EINVAL, "exs_svc_wait: no node, or no room for an event");
  return guarded(-1, [&] {
    const int count = node->wait(events, max, timeout_ns);
    return count >= 0 ? count : refuse(errno, "exs_svc_wait: %s", std::strerror(errno));
  });
}

// ---------------------------------------------------------------- services

namespace {

// The common part of exs_svc_open() and exs_svc_adopt(); `begin` is the call of the node that differs.
template <typename Begin>
exs_svc_t* make_service(const char* caller, exs_svc_node_t* node, const exs_svc_key_t* key,
                        const exs_svc_options_t* given, void* handle, const char* taken, Begin begin) {
  exs_svc_options_t options{};
  if (node == nullptr || key == nullptr || !exs::svc::read_options(given, options) ||
      options.only_with_cap > 1 || (options.flags & ~EXS_SVC_FENCED) != 0) {
    refuse(EINVAL, "%s: no node, no key, or options that are none", caller);
    return nullptr;
  }
  const bool is_fenced = (options.flags & EXS_SVC_FENCED) != 0;
  if (const char* const why = is_fenced ? node->why_no_lease() : nullptr; why != nullptr) {
    refuse(EINVAL, "%s: %s", caller, why);
    return nullptr;
  }
  return guarded<exs_svc_t*>(nullptr, [&]() -> exs_svc_t* {
    exs::svc::Service::Config config;
    config.node = node;
    config.key = exs::svc::key_of(key);
    config.only_with_capability = options.only_with_cap == 1;
    config.serial_min = options.serial_min;
    config.mailbox_max = or_default(options.mailbox_max, kMailbox);
    config.mailbox_each_max = of_each(options.mailbox_each_max, options.mailbox_max, kMailboxEach);
    config.windows_max_bytes = or_default(options.memory_max, kMemory);
    config.windows_each_max_bytes = of_each(options.memory_each_max, options.memory_max, kMemoryEach);
    config.handle = handle;
    config.is_fenced = is_fenced;
    exs_svc_t* const service = begin(std::move(config));
    if (service == nullptr) {
      const int error = errno;
      refuse(error, "%s: %s", caller, error == EADDRINUSE ? taken : std::strerror(error));
    }
    return service;
  });
}

}  // namespace

exs_svc_t* exs_svc_open(exs_svc_node_t* node, const exs_svc_key_t* key, const exs_svc_options_t* options,
                        void* handle) {
  return make_service(
      "exs_svc_open", node, key, options, handle, "a process of this host has the service's name",
      [node](exs::svc::Service::Config config) { return node->open_service(std::move(config)); });
}

exs_svc_t* exs_svc_adopt(exs_svc_node_t* node, const exs_svc_key_t* key, const exs_svc_options_t* options,
                         void* handle) {
  return make_service(
      "exs_svc_adopt", node, key, options, handle, "a process of this host waits for the service",
      [node](exs::svc::Service::Config config) { return node->adopt_service(std::move(config)); });
}

void exs_svc_close(exs_svc_t* service) {
  if (service != nullptr) service->node().close_service(service);
}

int exs_svc_move(exs_svc_t* service, const exs_svc_move_options_t* given, void* handle) {
  exs_svc_move_options_t options{};
  if (service == nullptr || !exs::svc::read_options(given, options) || options.find_ns < 0 ||
      options.limit_ns < 0)
    return refuse(EINVAL, "exs_svc_move: no service, or options that are none");
  return guarded(-1, [&] {
    exs::svc::Move::Config config;
    if (options.state_count > EXS_SVC_STATE_MAX)
      return refuse(EINVAL, "exs_svc_move: more than %d pieces of state", EXS_SVC_STATE_MAX);
    if (exs::svc::read_pieces("exs_svc_move", options.state, options.state_count, config.state) != 0)
      return -1;
    if (options.to != nullptr) {
      const std::optional<sockaddr_storage> to = exs::svc::parse_address(options.to);
      if (!to) return refuse(EINVAL, "exs_svc_move: `to` is to be address:port");
      config.to.push_back(*to);
    }
    config.find_ns = or_default(options.find_ns, kMoveFindNs);
    config.limit_ns = or_default(options.limit_ns, kMoveLimitNs);
    config.handle = handle;
    const int error = service->node().move_service(service, std::move(config));
    return error == 0 ? 0 : refuse(error, "exs_svc_move: the service is on its way, or not here");
  });
}

// ---------------------------------------------------------------- peers

exs_svc_peer_t* exs_svc_peer_open(exs_svc_node_t* node, exs_svc_t* from, const exs_svc_id_t* id,
                                  const exs_svc_cap_t* cap, void* handle) {
  if (node == nullptr || id == nullptr || (cap != nullptr && std::memcmp(&cap->id, id, sizeof *id) != 0)) {
    refuse(EINVAL, "exs_svc_peer_open: no node, no ID, or the capability of another service");
    return nullptr;
  }
  return guarded<exs_svc_peer_t*>(nullptr, [&] {
    std::optional<exs::svc::Capability> capability;
    if (cap != nullptr) capability = exs::svc::from_public(*cap);
    return node->open_peer(from, exs::svc::bytes_of(*id), capability, handle);
  });
}

void exs_svc_peer_close(exs_svc_peer_t* peer) {
  if (peer != nullptr) peer->node().close_peer(peer);
}

int exs_svc_ping(exs_svc_peer_t* peer) {
  if (peer == nullptr) return refuse(EINVAL, "exs_svc_ping: no peer");
  return guarded(-1, [&] {
    const int error = peer->node().ping(peer);
    return error == 0 ? 0 : refuse(error, "exs_svc_ping: a ping is under way");
  });
}

int exs_svc_stats(exs_svc_peer_t* peer) {
  if (peer == nullptr) return refuse(EINVAL, "exs_svc_stats: no peer");
  return guarded(-1, [&] {
    const int error = peer->node().ask_stats(peer);
    return error == 0 ? 0 : refuse(error, "exs_svc_stats: the service is asked already");
  });
}
