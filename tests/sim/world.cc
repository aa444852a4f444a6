// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/world.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/provider/registry.h"
#include "src/provider/sim/sim.h"

namespace exs::test::sim {
namespace {

constexpr int kQueueDepth = 512;
constexpr std::size_t kLinksMax = 5;
constexpr std::size_t kOpenMax = 12;  // operations of an end and direction
constexpr std::size_t kWindowBytes = 5000;
constexpr std::size_t kTellingBytes = 8;  // so many bytes of a message tell which one it is
constexpr std::int64_t kDrainNs = 3'600'000'000'000;

// Byte `at` of a flow.
std::byte byte_of(std::uint64_t flow, std::uint64_t at) {
  return static_cast<std::byte>(exs::sim::mixed(flow * 0x10001 + (at >> 3)) >> (8 * (at & 7)));
}

}  // namespace

std::string network_of(std::uint64_t seed) {
  exs::sim::Draws draws(~seed);
  std::string text = "sim:seed=" + std::to_string(seed);
  constexpr const char* kDelays[] = {"0", "1us..20us", "0..1ms", "5us"};
  text += std::string(",delay=") + kDelays[draws.below(4)];
  constexpr const char* kLate[] = {"0", "1/1", "1/2", "1/4"};
  text += std::string(",late=") + kLate[draws.below(4)];
  const auto fault = [&](const char* name, std::uint64_t odds) {
    if (draws.below(4) == 0) text += "," + std::string(name) + "=1/" + std::to_string(odds);
  };
  fault("pieces", 2);
  fault("slow", 30);
  fault("starve", 20);
  fault("lose", 300);
  fault("die", 600);
  fault("nomem", 400);
  fault("interrupt", 40);
  if (draws.below(4) == 0) text += ",reorder=no";
  return text;
}

World::World(std::uint64_t seed, Mutation mutation) : draws_(seed), mutation_(mutation) {
  // In one place, because setenv() keeps each text for ever.
  static char setting[512];
  std::snprintf(setting, sizeof setting, "EXS_PROVIDER=%s", network_of(seed).c_str());
  putenv(setting);
  if (exs_init(EXS_VERSION) != 0) wrong(std::string("exs_init: ") + exs_errtext());
  queue_ = exs_qcreate(kQueueDepth);
  if (queue_ == EXS_QHANDLE_INVALID) wrong(std::string("exs_qcreate: ") + exs_errtext());
}

World::~World() {
  exs_fini();
}

void World::run() {
  listen_at(0);
  listen_at(1);
  const std::uint64_t actions = 50 + below(300);
  connect();
  for (std::uint64_t i = 0; i < actions; ++i) act();
  finish();
  check_at_end();
  if (const auto* const simulated = exs::simulation()) {
    const auto report = const_cast<exs::sim::SimProvider*>(simulated)->report();
    outcome_.trace = report.trace;
    outcome_.steps = report.steps;
  }
}

// ---------------------------------------------------------------- actions

void World::act() {
  if (links_.size() < kLinksMax && one_in(8)) return connect();
  End* const end = any_end();
  switch (below(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      if (end != nullptr) send(*end);
      return;
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
      if (end != nullptr) receive(*end);
      return;
    case 10:
      if (one_in(2)) cancel();
      return;
    case 11:
      if (end != nullptr && one_in(4)) shut_down(*end);
      return;
    case 12:
      if (end != nullptr && one_in(4)) close(*end);
      return;
    default:
      return take_events(static_cast<int>(1 + below(8)),
                         static_cast<std::int64_t>(below(3) * below(200'000)));
  }
}

void World::listen_at(int type) {
  Listener& listener = listeners_[type];
  listener.socket = exs_socket(AF_INET, type == 0 ? SOCK_SEQPACKET : SOCK_STREAM, 0);
  listener.address.sin_family = AF_INET;
  listener.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const address = reinterpret_cast<sockaddr*>(&listener.address);
  socklen_t length = sizeof listener.address;
  const bool listens = exs_bind(listener.socket, address, length) == 0 &&
                       exs_listen(listener.socket, 8) == 0 &&
                       exs_getsockname(listener.socket, address, &length) == 0;
  if (!listens) wrong(std::string("listen: ") + exs_errtext());
}

void World::connect() {
  auto made = std::make_unique<Link>();
  Link& link = *made;
  link.kind = static_cast<Kind>(below(4));
  const int type = link.kind == Kind::kStream ? 1 : 0;
  Listener& listener = listeners_[type];
  links_.push_back(std::move(made));
  link.left.link = link.right.link = &link;
  link.left.is_left = true;
  link.to_right.number = ++flows_;
  link.to_left.number = ++flows_;
  const std::uint64_t accept = begin({EXS_EVT_ACCEPT, nullptr, listener.socket});
  if (!accepted(accept,
                exs_accept(listener.socket, nullptr, 0, queue_, reinterpret_cast<exs_ahandle_t>(accept))))
    return;
  link.left.socket = exs_socket(AF_INET, type == 0 ? SOCK_SEQPACKET : SOCK_STREAM, 0);
  if (link.left.socket < 0) wrong(std::string("exs_socket: ") + exs_errtext());
  closed_.erase(link.left.socket);
  sockaddr_in ours{};
  ours.sin_family = AF_INET;
  ours.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof ours;
  if (exs_bind(link.left.socket, reinterpret_cast<const sockaddr*>(&ours), length) != 0 ||
      exs_getsockname(link.left.socket, reinterpret_cast<sockaddr*>(&ours), &length) != 0)
    wrong(std::string("exs_bind: ") + exs_errtext());
  link.port = ours.sin_port;
  if (one_in(2)) exs_fcntl(link.left.socket, EXS_F_SET_SEND_CREDITS, static_cast<int>(1 + below(8)));
  if (one_in(2)) exs_fcntl(link.left.socket, EXS_F_SET_RECV_CREDITS, static_cast<int>(1 + below(8)));
  const std::uint64_t id = begin({EXS_EVT_CONNECT, &link.left, link.left.socket});
  accepted(id, exs_connect(link.left.socket, reinterpret_cast<const sockaddr*>(&listener.address),
                           sizeof listener.address, 0, queue_, reinterpret_cast<exs_ahandle_t>(id)));
}

World::End* World::any_end() {
  if (links_.empty()) return nullptr;
  Link& link = *links_[below(links_.size())];
  End& end = one_in(2) ? link.left : link.right;
  return end.open && !end.is_closing ? &end : nullptr;
}

std::shared_ptr<std::vector<std::byte>> World::memory_of(std::size_t length, std::uint64_t flow,
                                                         std::uint64_t at) {
  auto memory = std::make_shared<std::vector<std::byte>>(std::max<std::size_t>(length, 1));
  for (std::size_t i = 0; i < length; ++i) (*memory)[i] = byte_of(flow, at + i);
  return memory;
}

void World::send(End& end) {
  if (end.sends >= kOpenMax) return;
  switch (end.link->kind) {
    case Kind::kMessages: return send_message(end);
    case Kind::kStream: return send_stream(end);
    default: return use_window(end);
  }
}

// A message is recognised by its bytes: those of the flow from its number on.
void World::send_message(End& end) {
  Flow& flow = flow_from(end);
  constexpr std::size_t kLengths[] = {0, 1, 8, 60, 200, 1000, 4096, 20'000};
  const std::size_t length = kLengths[below(8)] + (one_in(2) ? below(8) : 0);
  const std::size_t number = flow.messages.size();
  Operation operation{EXS_EVT_SEND, &end, end.socket, memory_of(length, flow.number, number * 64)};
  operation.length = length;
  operation.message = number;
  flow.messages.push_back({length});
  void* const from = operation.memory->data();
  const std::uint64_t id = begin(std::move(operation));
  const int flags = one_in(4) ? EXS_NO_IMMEDIATE : one_in(6) ? MSG_MORE : 0;
  if (!accepted(id, exs_send(end.socket, from, length, flags, queue_, reinterpret_cast<exs_ahandle_t>(id),
                             EXS_MHANDLE_UNREGISTERED))) {
    flow.messages.pop_back();
    return;
  }
  ++end.sends;
}

void World::send_stream(End& end) {
  Flow& flow = flow_from(end);
  const std::size_t length = 1 + below(one_in(4) ? 30'000 : 600);
  Operation operation{EXS_EVT_SEND, &end, end.socket, memory_of(length, flow.number, flow.sent_bytes)};
  operation.length = length;
  void* const from = operation.memory->data();
  const std::uint64_t id = begin(std::move(operation));
  if (!accepted(id, exs_send(end.socket, from, length, 0, queue_, reinterpret_cast<exs_ahandle_t>(id),
                             EXS_MHANDLE_UNREGISTERED)))
    return;
  flow.sent_bytes += length;
  ++end.sends;
}

void World::receive(End& end) {
  if (end.receives >= kOpenMax) return;
  if (end.link->kind == Kind::kPeerReads || end.link->kind == Kind::kPeerWrites) return use_window(end);
  const std::size_t length = one_in(3) ? 24'000 : kTellingBytes + below(5000);
  Operation operation{EXS_EVT_RECV, &end, end.socket, std::make_shared<std::vector<std::byte>>(length)};
  operation.length = length;
  operation.all = end.link->kind == Kind::kStream && one_in(3);
  void* const into = operation.memory->data();
  const int flags = operation.all ? MSG_WAITALL : 0;
  const std::uint64_t id = begin(std::move(operation));
  if (accepted(id, exs_recv(end.socket, into, length, flags, queue_, reinterpret_cast<exs_ahandle_t>(id),
                            EXS_MHANDLE_UNREGISTERED)))
    ++end.receives;
}

// Left owns the memory, right uses it. Both are full of the bytes of the flow to the right.
void World::use_window(End& end) {
  const bool reads = end.link->kind == Kind::kPeerReads;
  Link& link = *end.link;
  const std::uint64_t flow = link.to_right.number;
  if (end.is_left) {
    if (end.persistent) return;
    end.window =
        reads ? memory_of(kWindowBytes, flow, 0) : std::make_shared<std::vector<std::byte>>(kWindowBytes);
    Operation operation{reads ? EXS_EVT_SEND : EXS_EVT_RECV, &end, end.socket, end.window};
    operation.length = kWindowBytes;
    operation.region = exs_mregister(end.window->data(), kWindowBytes, 0);
    const exs_mhandle_t region = operation.region;
    const std::uint64_t id = begin(std::move(operation));
    auto* const handle = reinterpret_cast<exs_ahandle_t>(id);
    const int result =
        reads
            ? exs_send(end.socket, end.window->data(), kWindowBytes, EXS_PERSISTENT, queue_, handle, region)
            : exs_recv(end.socket, end.window->data(), kWindowBytes, EXS_PERSISTENT, queue_, handle, region);
    end.persistent = accepted(id, result);
    if (!end.persistent) exs_mderegister(region, 0);
    return;
  }
  const std::uint64_t offset = below(kWindowBytes);
  const std::size_t length = 1 + below(kWindowBytes - offset);
  Operation operation{
      reads ? EXS_EVT_RECV : EXS_EVT_SEND, &end, end.socket,
      reads ? std::make_shared<std::vector<std::byte>>(length) : memory_of(length, flow, offset)};
  operation.length = length;
  operation.offset = offset;
  void* const at = operation.memory->data();
  const std::uint64_t id = begin(std::move(operation));
  auto* const handle = reinterpret_cast<exs_ahandle_t>(id);
  const int result =
      reads ? exs_recv_offset(end.socket, at, length, 0, queue_, handle, EXS_MHANDLE_UNREGISTERED, offset)
            : exs_send_offset(end.socket, at, length, 0, queue_, handle, EXS_MHANDLE_UNREGISTERED, offset);
  if (accepted(id, result)) ++(reads ? end.receives : end.sends);
}

// A stream whose send is cancelled would lack bytes that nobody knows of, and a short message is not told from others like it.
void World::cancel() {
  if (operations_.empty()) return;
  const std::uint64_t id = 1 + below(operations_.size());
  const Operation& operation = operations_[id - 1];
  if (operation.done || operation.type == EXS_EVT_CLOSE || operation.type == EXS_EVT_SHUTDOWN) return;
  if (operation.end != nullptr && operation.type == EXS_EVT_SEND) {
    const Kind kind = operation.end->link->kind;
    if (kind == Kind::kStream || (kind == Kind::kMessages && operation.length < kTellingBytes)) return;
  }
  if (exs_cancel(-1, reinterpret_cast<exs_ahandle_t>(id), EXS_CAF_AHANDLE) < 0 && errno != ENOENT)
    wrong(std::string("exs_cancel: ") + exs_errtext());
}

void World::shut_down(End& end) {
  const std::uint64_t id = begin({EXS_EVT_SHUTDOWN, &end, end.socket});
  accepted(id, exs_shutdown_async(end.socket, SHUT_WR, queue_, reinterpret_cast<exs_ahandle_t>(id)));
}

void World::close(End& end) {
  if (end.socket < 0 || end.is_closing) return;
  const std::uint64_t id = begin({EXS_EVT_CLOSE, &end, end.socket});
  end.is_closing = accepted(id, exs_close_async(end.socket, 0, queue_, reinterpret_cast<exs_ahandle_t>(id)));
  if (!end.is_closing && errno != EAGAIN) wrong(std::string("exs_close_async: ") + exs_errtext());
}

// Everything that is open must end when all sockets are closed.
void World::finish() {
  for (int i = 0; i < 40; ++i) take_events(64, 100'000);
  for (const auto& link : links_) {
    close(link->left);
    close(link->right);
  }
  for (Listener& listener : listeners_) {
    const std::uint64_t id = begin({EXS_EVT_CLOSE, nullptr, listener.socket});
    if (!accepted(id, exs_close_async(listener.socket, 0, queue_, reinterpret_cast<exs_ahandle_t>(id))))
      wrong(std::string("close of a listener: ") + exs_errtext());
  }
  // An accept that is under way may still make a connection, which is closed then.
  for (std::size_t idle = 0; open_ > 0 && idle < 4;) {
    const std::size_t before = open_;
    take_events(64, kDrainNs);
    for (const auto& link : links_) close(link->right);
    idle = open_ == before ? idle + 1 : 0;
  }
  take_events(64, 0);
}

}  // namespace exs::test::sim
