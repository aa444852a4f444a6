// The functions of exs/service.h for nodes, services, peers and messages.
// SPDX-License-Identifier: BSD-2-Clause
#include "exs/service.h"

#include <array>
#include <cerrno>
#include <cstring>

#include "service/api/calls.h"
#include "service/names/address.h"
#include "service/names/directory_wire.h"
#include "service/names/setting.h"
#include "service/node/node.h"

namespace {

using exs::c_call;
using exs::failure;
using exs::refuse;
using exs::refuse_in_words;
using exs::Result;
using exs::Status;

constexpr std::int64_t kNsPerMsOfProgram = 1'000'000;  // as limits of the program are, signed
constexpr std::int64_t kFindNs = 2'000 * kNsPerMsOfProgram;
constexpr std::int64_t kSilentMinNs = 10 * kNsPerMsOfProgram;
constexpr std::int64_t kSilentMaxNs = 3'600'000 * kNsPerMsOfProgram;
constexpr std::int64_t kSilentNs = 600 * kNsPerMsOfProgram;
// Limits come in pairs: for all principals together, and for each.
constexpr std::uint32_t kLinks = 1024;
constexpr std::uint32_t kLinksEach = 256;
constexpr std::uint32_t kMailbox = 1024;
constexpr std::uint32_t kMailboxEach = 256;
constexpr std::uint64_t kMemory = std::uint64_t{256} << 20;
constexpr std::uint64_t kMemoryEach = std::uint64_t{64} << 20;
constexpr std::uint64_t kReplyMemory = std::uint64_t{64} << 20;
constexpr std::uint32_t kFlows = 64;
constexpr std::int64_t kMoveFindNs = 500 * kNsPerMsOfProgram;
constexpr std::int64_t kMoveLimitNs = 5'000 * kNsPerMsOfProgram;

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

Result<exs::svc::Ways> read_ways(const exs_svc_node_options_t& options) {
  exs::svc::Ways ways;
  if ((options.find_by & ~kAllWays) != 0)
    return failure(refuse(EINVAL, "find_by has bits that mean nothing"));
  const std::uint32_t by = options.find_by == 0 ? kAllWays : options.find_by;
  ways.by_host = (by & EXS_SVC_BY_HOST) != 0;
  if ((by & EXS_SVC_BY_FILE) != 0)
    ways.names_path = options.names == nullptr ? exs::svc::NamesFile::default_path() : options.names;
  const auto multicast =
      exs::svc::parse_multicast(said(options.multicast, exs::svc::setting("EXS_SVC_MULTICAST")));
  if (!multicast)
    return failure(refuse(
        EINVAL, "multicast (EXS_SVC_MULTICAST) is to be off, or names of interfaces, and perhaps :port"));
  const std::string_view directory = said(options.directory, exs::svc::setting("EXS_SVC_DIRECTORY"));
  const auto address = exs::parse_address(directory);
  if (!directory.empty() && !address)
    return failure(refuse(EINVAL, "directory (EXS_SVC_DIRECTORY) is to be an address, or address:port"));
  if ((by & EXS_SVC_BY_DIRECTORY) != 0 && address)
    ways.directory =
        exs::port_number(*address) != 0 ? *address : exs::with_port(*address, exs::svc::kDirectoryPort);
  if ((by & EXS_SVC_BY_MULTICAST) != 0 && multicast->is_on) ways.multicast = *multicast;
  return ways;
}

Result<exs::svc::Node::Config> read_config(const exs_svc_node_options_t* given, const char*& listen) {
  exs_svc_node_options_t options{};
  if (!exs::read_options(given, options))
    return failure(refuse(EINVAL, "struct_bytes is to be the size of the options"));
  listen = options.listen != nullptr ? options.listen : default_listen();
  const std::optional<sockaddr_storage> address = exs::parse_address(listen);
  if (!address) return failure(refuse(EINVAL, "listen is to be an address, or address:port"));
  const std::int64_t silent_ns = or_default(options.silent_ns, kSilentNs);
  if (silent_ns < kSilentMinNs || silent_ns > kSilentMaxNs)
    return failure(refuse(EINVAL, "silent_ns is to be 10 ms to 1 hour"));
  if (options.find_ns < 0) return failure(refuse(EINVAL, "find_ns is negative"));
  Result<exs::svc::Ways> ways = read_ways(options);
  if (!ways) return failure(ways.error());
  return exs::svc::Node::Config{*address,
                                static_cast<std::uint64_t>(or_default(options.find_ns, kFindNs)),
                                static_cast<int>(silent_ns / kNsPerMsOfProgram),
                                or_default(options.links_max, kLinks),
                                of_each(options.links_each_max, options.links_max, kLinksEach),
                                or_default(options.flows_max, kFlows),
                                or_default(options.memory_max, kReplyMemory),
                                std::move(*ways)};
}

// The address comes before the reason.
Status not_opened(const char* listen, Status why) {
  std::array<char, exs::kSentenceBytesMax> sentence;
  const std::size_t bytes = why.sentence() == 0 ? 0 : exs::text_of_refusal(why, sentence);
  const char* const general = exs::svc::general_sentence("exs_svc_node_open", why.error());
  const std::string_view words = bytes > 0          ? std::string_view(sentence.data(), bytes)
                                 : *general != '\0' ? std::string_view(general)
                                                    : std::string_view(std::strerror(why.error()));
  return refuse_in_words(why.error(), {listen, ": ", words});
}

}  // namespace

struct exs_svc_node final : exs::svc::Node {
  using Node::Node;
};

// ---------------------------------------------------------------- nodes

exs_svc_node_t* exs_svc_node_open(const exs_svc_node_options_t* options) {
  return c_call<exs_svc_node_t*>(nullptr, [&]() -> Result<exs_svc_node_t*> {
    const char* listen = "";
    const Result<exs::svc::Node::Config> config = read_config(options, listen);
    if (!config) return failure(config.error());
    auto node = std::make_unique<exs_svc_node>(*config);
    if (const Status opened = node->open(); !opened.ok()) return failure(not_opened(listen, opened));
    return node.release();
  });
}

void exs_svc_node_close(exs_svc_node_t* node) {
  delete node;
}

int exs_svc_node_fd(exs_svc_node_t* node) {
  return c_call<int>(-1, [&]() -> Result<int> {
    if (node == nullptr) return failure(refuse(EINVAL, "no node"));
    return node->descriptor();
  });
}

int exs_svc_wait(exs_svc_node_t* node, exs_svc_event_t* events, int max, int64_t timeout_ns) {
  return c_call<int>(-1, [&]() -> Result<int> {
    if (node == nullptr || events == nullptr || max < 1)
      return failure(refuse(EINVAL, "no node, or no room for an event"));
    return node->wait(events, max, timeout_ns);
  });
}

// ---------------------------------------------------------------- services

namespace {

// The common part of exs_svc_open() and exs_svc_adopt(); `begin` is the call of the node that differs.
template <typename Begin>
Result<exs_svc_t*> make_service(exs_svc_node_t* node, const exs_svc_key_t* key,
                                const exs_svc_options_t* given, void* handle, Begin begin) {
  exs_svc_options_t options{};
  if (node == nullptr || key == nullptr || !exs::read_options(given, options) || options.only_with_cap > 1 ||
      (options.flags & ~static_cast<std::uint32_t>(EXS_SVC_FENCED)) != 0)
    return failure(refuse(EINVAL, "no node, no key, or options that are none"));
  exs::svc::Service::Config config;
  config.is_fenced = (options.flags & EXS_SVC_FENCED) != 0;
  if (config.is_fenced)
    if (const Status possible = node->check_lease_possible(); !possible.ok()) return failure(possible);
  config.node = node;
  config.key = exs::svc::key_of(key);
  config.only_with_capability = options.only_with_cap == 1;
  config.serial_min = options.serial_min;
  config.mailbox_max = or_default(options.mailbox_max, kMailbox);
  config.mailbox_each_max = of_each(options.mailbox_each_max, options.mailbox_max, kMailboxEach);
  config.windows_max_bytes = or_default(options.memory_max, kMemory);
  config.windows_each_max_bytes = of_each(options.memory_each_max, options.memory_max, kMemoryEach);
  config.handle = handle;
  return begin(std::move(config));
}

Result<exs::svc::Move::Config> read_move(const exs_svc_move_options_t& options, void* handle) {
  exs::svc::Move::Config config;
  if (options.state_count > EXS_SVC_STATE_MAX)
    return failure(refuse(EINVAL, "more than {} pieces of state", EXS_SVC_STATE_MAX));
  Result<exs::svc::Transfer::Pieces> state = exs::svc::read_pieces(options.state, options.state_count);
  if (!state) return failure(state.error());
  config.state = std::move(*state);
  if (options.to != nullptr) {
    const std::optional<sockaddr_storage> to = exs::parse_address(options.to);
    if (!to) return failure(refuse(EINVAL, "`to` is to be address:port"));
    config.to.push_back(*to);
  }
  config.find_ns = static_cast<std::uint64_t>(or_default(options.find_ns, kMoveFindNs));
  config.limit_ns = static_cast<std::uint64_t>(or_default(options.limit_ns, kMoveLimitNs));
  config.handle = handle;
  return config;
}

}  // namespace

exs_svc_t* exs_svc_open(exs_svc_node_t* node, const exs_svc_key_t* key, const exs_svc_options_t* options,
                        void* handle) {
  return c_call<exs_svc_t*>(nullptr, [&] {
    return make_service(node, key, options, handle, [node](exs::svc::Service::Config config) {
      return node->open_service(std::move(config));
    });
  });
}

exs_svc_t* exs_svc_adopt(exs_svc_node_t* node, const exs_svc_key_t* key, const exs_svc_options_t* options,
                         void* handle) {
  return c_call<exs_svc_t*>(nullptr, [&] {
    return make_service(node, key, options, handle, [node](exs::svc::Service::Config config) {
      return node->adopt_service(std::move(config));
    });
  });
}

void exs_svc_close(exs_svc_t* service) {
  if (service != nullptr) service->node().close_service(service);
}

int exs_svc_move(exs_svc_t* service, const exs_svc_move_options_t* given, void* handle) {
  return c_call([&]() -> Status {
    exs_svc_move_options_t options{};
    if (service == nullptr || !exs::read_options(given, options) || options.find_ns < 0 ||
        options.limit_ns < 0)
      return refuse(EINVAL, "no service, or options that are none");
    Result<exs::svc::Move::Config> config = read_move(options, handle);
    if (!config) return config.error();
    return service->node().move_service(service, std::move(*config));
  });
}

// ---------------------------------------------------------------- peers

exs_svc_peer_t* exs_svc_peer_open(exs_svc_node_t* node, exs_svc_t* from, const exs_svc_id_t* id,
                                  const exs_svc_cap_t* cap, void* handle) {
  return c_call<exs_svc_peer_t*>(nullptr, [&]() -> Result<exs_svc_peer_t*> {
    if (node == nullptr || id == nullptr || (cap != nullptr && std::memcmp(&cap->id, id, sizeof *id) != 0))
      return failure(refuse(EINVAL, "no node, no ID, or the capability of another service"));
    std::optional<exs::svc::Capability> capability;
    if (cap != nullptr) capability = exs::svc::from_public(*cap);
    return node->open_peer(from, exs::svc::bytes_of(*id), capability, handle);
  });
}

void exs_svc_peer_close(exs_svc_peer_t* peer) {
  if (peer != nullptr) peer->node().close_peer(peer);
}

int exs_svc_ping(exs_svc_peer_t* peer) {
  return c_call([&]() -> Status {
    if (peer == nullptr) return refuse(EINVAL, "no peer");
    return peer->node().ping(peer);
  });
}

int exs_svc_stats(exs_svc_peer_t* peer) {
  return c_call([&]() -> Status {
    if (peer == nullptr) return refuse(EINVAL, "no peer");
    return peer->node().ask_stats(peer);
  });
}
