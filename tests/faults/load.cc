// SPDX-License-Identifier: BSD-2-Clause
#include "tests/faults/load.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "event/engine/shard.h"

namespace exs::test {
namespace {

constexpr std::size_t kShortBytes = 100;
constexpr std::size_t kLongBytes = 48 * 1024;
constexpr std::uint32_t kSeed = 4711;
constexpr int kConnectMs = 20'000;
constexpr int kLingerMs = 2000;

// The errnos that a failing peer or network may cause.
bool may_end_with(int error) {
  constexpr std::array kKnown = {ECANCELED, ECONNRESET, ENOTCONN,      EPIPE,
                                 ETIMEDOUT, ENETDOWN,   EADDRNOTAVAIL, ENODEV};
  return std::find(kKnown.begin(), kKnown.end(), error) != kKnown.end();
}

}  // namespace

Load::Load(Side side, std::uint64_t bound_ns) : side_(side), bound_ns_(bound_ns) {
  sent_.fill(kSeed);
}

Load::~Load() {
  for (const int socket : listening_) {
    if (socket >= 0) exs_close(socket);
  }
}

int Load::type_of(Kind kind) {
  return kind == Kind::kStream ? SOCK_STREAM : SOCK_SEQPACKET;
}

const char* Load::name_of(Kind kind) {
  switch (kind) {
    case Kind::kMessages: return "messages";
    case Kind::kStream: return "stream";
    case Kind::kClientLends: return "client lends";
    case Kind::kServerLends: return "server lends";
    case Kind::kClientOffers: return "client offers";
    case Kind::kServerOffers: return "server offers";
  }
  return "nothing";
}

bool Load::owns_window(Kind kind) const {
  return side_ == Side::kClient ? kind == Kind::kClientLends || kind == Kind::kClientOffers
                                : kind == Kind::kServerLends || kind == Kind::kServerOffers;
}

// ---------------------------------------------------------------- sockets

void Load::prepare(int socket) {
  set_option(socket, EXS_SO_LINGER_MS, kLingerMs);
  set_option(socket, EXS_SO_CONNECT_TIMEOUT_MS, kConnectMs);
  const exs_timeout_t timeout{kLimitNs, EXS_TIMEOUT_CANCEL, queue_.handle(), nullptr};
  for (const int option : {SO_ASYNC_SEND_TIMEOUT, SO_ASYNC_RECV_TIMEOUT}) {
    if (exs_setsockopt(socket, SOL_EXS, option, &timeout, sizeof timeout) != 0)
      operations_.violation("no time limit: " + errno_name(errno));
  }
}

int Load::listen_at(int type, std::uint16_t& port) {
  const int socket = exs_socket(AF_INET, type, 0);
  prepare(socket);
  sockaddr_in address = loopback();
  socklen_t length = sizeof address;
  if (exs_bind(socket, generic(address), sizeof address) != 0 || exs_listen(socket, 16) != 0 ||
      exs_getsockname(socket, generic(address), &length) != 0) {
    operations_.violation("cannot listen: " + errno_name(errno));
  }
  port = ntohs(address.sin_port);
  return socket;
}

Load::Ports Load::listen() {
  Ports ports;
  listening_ = {listen_at(SOCK_SEQPACKET, ports.messages), listen_at(SOCK_STREAM, ports.streams)};
  return ports;
}

// The client connects in the order of the kinds, one connection after the other.
bool Load::accept_all(const std::function<bool()>& is_over) {
  connections_.clear();
  is_posting_ = true;
  for (const Kind kind : kKinds) {
    const int listening = listening_[kind == Kind::kStream ? 1 : 0];
    if (exs_accept(listening, nullptr, 0, queue_.handle(), nullptr) != 0)
      operations_.violation("exs_accept: " + errno_name(errno));
    exs_event_t event{};
    do {
      if (is_over()) return false;
      event = {};
      exs_qwait(queue_.handle(), &event, 1, 1, 50 * kNsPerMs);
    } while (event.exs_evt_type != EXS_EVT_ACCEPT);
    if (event.exs_evt_errno != 0)
      operations_.violation("accept ended with " + errno_name(event.exs_evt_errno));
    connections_.push_back({kind, event.exs_evt_union.exs_evt_accept.exs_evt_newsocket});
  }
  return true;
}

void Load::connect_all(const Ports& ports) {
  connections_.clear();
  is_posting_ = true;
  for (const Kind kind : kKinds) {
    const int socket = exs_socket(AF_INET, type_of(kind), 0);
    prepare(socket);
    sockaddr_in address = loopback(kind == Kind::kStream ? ports.streams : ports.messages);
    if (exs_connect(socket, generic(address), sizeof address, 0, queue_.handle(), nullptr) != 0)
      operations_.violation("exs_connect: " + errno_name(errno));
    const int error = queue_.next_of(socket, EXS_EVT_CONNECT).exs_evt_errno;
    if (error != 0) operations_.violation("connect ended with " + errno_name(error));
    connections_.push_back({kind, socket});
    connections_.back().is_broken = error != 0;
  }
}

void Load::close_all() {
  is_posting_ = false;
  for (Connection& connection : connections_) {
    connection.is_broken = true;
    const auto ticket = operations_.begin(EXS_EVT_CLOSE, kBoundNs);
    if (!ticket || exs_close_async(connection.socket, 0, queue_.handle(), ticket->handle) != 0)
      operations_.violation("exs_close_async: " + errno_name(errno));
  }
}

// ---------------------------------------------------------------- operations

std::byte* Load::buffer_of(std::size_t slot) {
  return received_.at(slot * kBufferBytes);
}

template <typename Post>
void Load::post(Connection& connection, int event_type, std::uint64_t bound_ns, Post call) {
  const auto ticket = operations_.begin(event_type, bound_ns);
  if (!ticket) return operations_.violation("more operations than were posted");
  if (call(*ticket) == 0) return;
  const int error = errno;
  operations_.refused(*ticket);
  connection.is_broken = true;
  if (connection.error == 0) connection.error = error;
  if (error != EPIPE && error != ENOTCONN && error != ECONNRESET)
    operations_.violation(std::string(exs_evtname(event_type)) + " refused with " + errno_name(error));
}

void Load::send_next(Connection& connection) {
  const int socket = connection.socket;
  const exs_qhandle_t queue = queue_.handle();
  const std::byte* bytes = sent_.at();
  const exs_mhandle_t region = sent_.handle();
  const std::uint64_t way = connection.sends++ % 5;
  if (way == 3) {
    return post(connection, EXS_EVT_SENDMSG, bound_ns_, [&](const OperationTable::Ticket& ticket) {
      Vector& vector = vectors_[ticket.slot];
      auto* begin = const_cast<std::byte*>(bytes);
      vector.pieces = {exs_iovec_t{begin, kShortBytes, region, 0},
                       exs_iovec_t{begin + kShortBytes, kLongBytes, region, 0},
                       exs_iovec_t{begin + kShortBytes + kLongBytes, 1, EXS_MHANDLE_UNREGISTERED, 0}};
      vector.message = {};
      vector.message.msg_iov = vector.pieces.data();
      vector.message.msg_iovlen = static_cast<int>(vector.pieces.size());
      return exs_sendmsg(socket, &vector.message, 0, queue, ticket.handle);
    });
  }
  post(connection, EXS_EVT_SEND, bound_ns_, [&](const OperationTable::Ticket& ticket) {
    switch (way) {
      case 0: return exs_send(socket, bytes, kShortBytes, 0, queue, ticket.handle, region);
      case 1: return exs_send(socket, bytes, kLongBytes, 0, queue, ticket.handle, region);
      case 2: return exs_send(socket, bytes, kShortBytes, EXS_NO_IMMEDIATE, queue, ticket.handle, region);
      default: return exs_send(socket, bytes, kLongBytes, 0, queue, ticket.handle, EXS_MHANDLE_UNREGISTERED);
    }
  });
}

void Load::receive_next(Connection& connection) {
  post(connection, EXS_EVT_RECV, bound_ns_, [&](const OperationTable::Ticket& ticket) {
    return exs_recv(connection.socket, buffer_of(ticket.slot), kBufferBytes, 0, queue_.handle(),
                    ticket.handle, received_.handle());
  });
}

void Load::begin(Connection& connection) {
  const bool lends = connection.kind == Kind::kClientLends || connection.kind == Kind::kServerLends;
  if (connection.kind == Kind::kMessages || connection.kind == Kind::kStream) {
    for (int i = 0; i < kDepth; ++i) receive_next(connection), send_next(connection);
  } else if (!owns_window(connection.kind)) {
    for (int i = 0; i < kDepth; ++i) lends ? receive_next(connection) : send_next(connection);
  } else {
    post(connection, lends ? EXS_EVT_SEND : EXS_EVT_RECV, kBoundNs,
         [&](const OperationTable::Ticket& ticket) {
           return lends ? exs_send(connection.socket, sent_.at(), kBufferBytes, EXS_PERSISTENT,
                                   queue_.handle(), ticket.handle, sent_.handle())
                        : exs_recv(connection.socket, buffer_of(ticket.slot), kBufferBytes, EXS_PERSISTENT,
                                   queue_.handle(), ticket.handle, received_.handle());
         });
  }
}

void Load::start() {
  for (Connection& connection : connections_) begin(connection);
}

// ---------------------------------------------------------------- events

// Messages and windows begin at the start of the same bytes; the bytes of a stream event may begin anywhere.
void Load::check(const exs_event_t& event, const Connection& connection) {
  const auto* bytes = static_cast<const std::byte*>(event.exs_evt_union.exs_evt_xfer.exs_evt_buf);
  const std::size_t length = event.exs_evt_union.exs_evt_xfer.exs_evt_length;
  if (connection.kind == Kind::kStream || bytes == nullptr) return;
  if (length == 0 || std::memcmp(bytes, sent_.at(), length) != 0) data_were_right_ = false;
}

void Load::take_transfer(const exs_event_t& event) {
  for (Connection& connection : connections_) {
    if (connection.socket != event.exs_evt_socket) continue;
    const bool receives = event.exs_evt_type == EXS_EVT_RECV;
    const bool ended = event.exs_evt_errno != 0;
    ended ? ++connection.failed : ++connection.done;
    if (ended && connection.error == 0) connection.error = event.exs_evt_errno;
    if (ended && !may_end_with(event.exs_evt_errno))
      operations_.violation("ended with " + errno_name(event.exs_evt_errno));
    if (owns_window(connection.kind)) {
      connection.is_broken = true;  // the connection has no other operation
      return;
    }
    const bool no_more = receives && event.exs_evt_union.exs_evt_xfer.exs_evt_length == 0;
    if (ended || no_more) {
      connection.is_broken = true;
      return;
    }
    if (receives) check(event, connection);
    if (connection.is_broken || !is_posting_) return;
    return receives ? receive_next(connection) : send_next(connection);
  }
}

void Load::take(const exs_event_t& event) {
  switch (event.exs_evt_type) {
    case EXS_EVT_SENDTIMEOUT:
    case EXS_EVT_RECVTIMEOUT: return;
    case EXS_EVT_CLOSE: return operations_.ended(event);
    default: break;
  }
  operations_.ended(event);
  take_transfer(event);
}

void Load::drain(std::int64_t timeout_ns) {
  exs_event_t events[32];
  const int count = exs_qwait(queue_.handle(), events, 32, 1, timeout_ns);
  for (int i = 0; i < count; ++i) take(events[i]);
}

template <typename Condition>
bool Load::drain_until(std::uint64_t limit_ns, Condition holds) {
  const std::uint64_t deadline_ns = monotonic_ns() + limit_ns;
  while (!holds()) {
    if (monotonic_ns() > deadline_ns) return false;
    drain(20 * kNsPerMs);
    operations_.look_for_overdue(monotonic_ns());
  }
  return true;
}

bool Load::run_for(std::uint64_t transfers) {
  std::vector<std::uint64_t> goals;
  for (const Connection& connection : connections_) goals.push_back(connection.done + transfers);
  return drain_until(kBoundNs, [&] {
    for (std::size_t i = 0; i < goals.size(); ++i) {
      const Connection& connection = connections_[i];
      if (!owns_window(connection.kind) && !connection.is_broken && connection.done < goals[i]) return false;
    }
    return true;
  });
}

bool Load::await_open(std::size_t count, std::uint64_t limit_ns) {
  return drain_until(limit_ns, [&] { return operations_.open() <= count; });
}

bool Load::await_endings(std::uint64_t limit_ns) {
  const bool all = await_open(0, limit_ns);
  if (!all) operations_.report_open();
  return all;
}

bool Load::await_breaks(bool but_windows, std::uint64_t limit_ns) {
  return drain_until(limit_ns, [&] {
    return std::all_of(connections_.begin(), connections_.end(), [&](const Connection& connection) {
      const bool has_window = connection.kind != Kind::kMessages && connection.kind != Kind::kStream;
      return connection.is_broken || (but_windows && has_window);
    });
  });
}

bool Load::is_whole() const {
  return std::none_of(connections_.begin(), connections_.end(),
                      [](const Connection& connection) { return connection.is_broken; });
}

bool Load::owned_failed() const {
  return std::all_of(connections_.begin(), connections_.end(), [&](const Connection& connection) {
    return !owns_window(connection.kind) || connection.failed == 1;
  });
}

std::string Load::report() const {
  std::string text = side_ == Side::kClient ? "client:" : "server:";
  for (const Connection& connection : connections_) {
    text += std::string(" [") + name_of(connection.kind) + ": " + std::to_string(connection.done) +
            " done, " + std::to_string(connection.failed) + " failed" +
            (connection.error == 0 ? "]" : " (" + errno_name(connection.error) + ")]");
  }
  return text;
}

}  // namespace exs::test
