// What an event has to be: the one of an operation that is open, on a socket that is not closed, with the bytes that were
// sent, or with an error that the network explains.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "tests/sim/world.h"

namespace exs::test::sim {
namespace {

std::byte byte_at(std::uint64_t flow, std::uint64_t at) {
  return static_cast<std::byte>(exs::sim::mixed(flow * 0x10001 + (at >> 3)) >> (8 * (at & 7)));
}

bool are_of_flow(const std::vector<std::byte>& memory, std::size_t length, std::uint64_t flow,
                 std::uint64_t at) {
  for (std::size_t i = 0; i < length; ++i) {
    if (memory[i] != byte_at(flow, at + i)) return false;
  }
  return true;
}

std::string name_of(const exs_event_t& event) {
  return std::string(exs_evtname(event.exs_evt_type)) + " of socket " + std::to_string(event.exs_evt_socket) +
         ", errno " + std::to_string(event.exs_evt_errno);
}

}  // namespace

std::uint64_t World::begin(Operation operation) {
  operations_.push_back(std::move(operation));
  ++open_;
  return operations_.size();
}

bool World::accepted(std::uint64_t id, int result) {
  if (result == 0) return true;
  constexpr int kRefusals[] = {EAGAIN, ENOTCONN, EPIPE, ENOMEM, EBADF, EBUSY, ECONNRESET};
  const int error = errno;
  if (std::find(std::begin(kRefusals), std::end(kRefusals), error) == std::end(kRefusals))
    wrong("a call was refused: " + std::string(exs_errtext()));
  if (id != operations_.size()) wrong("a call ran twice");
  operations_.pop_back();
  --open_;
  errno = error;
  return false;
}

bool World::may_fail_with(int error) {
  constexpr int kErrors[] = {ECONNRESET, EPIPE, ECANCELED, ETIMEDOUT, ENOMEM, ENOTCONN, ECONNREFUSED};
  return std::find(std::begin(kErrors), std::end(kErrors), error) != std::end(kErrors);
}

void World::take_events(int most, std::int64_t limit_ns) {
  exs_event_t events[64];
  const int count = exs_qwait(queue_, events, std::min(most, 64), 1, limit_ns);
  if (count < 0 && errno != EINTR) wrong(std::string("exs_qwait: ") + exs_errtext());
  for (int i = 0; i < count; ++i) take_mutated(events[i]);
}

void World::take_mutated(exs_event_t event) {
  const bool is_message =
      event.exs_evt_type == EXS_EVT_RECV && event.exs_evt_errno == 0 && exs_event_bytes(&event) > 8;
  if (mutation_ == Mutation::kNone || is_mutated_ || !is_message) return take(event);
  is_mutated_ = true;
  const auto id = reinterpret_cast<std::uint64_t>(event.exs_evt_ahandle);
  switch (mutation_) {
    case Mutation::kByte: (*operations_[id - 1].memory)[3] ^= std::byte{1}; break;
    case Mutation::kLostEvent: return;
    case Mutation::kSecondEvent: take(event); break;
    case Mutation::kError: event.exs_evt_errno = ENOBUFS; break;
    default: event.exs_evt_union.exs_evt_xfer.exs_evt_length -= 1; break;
  }
  take(event);
}

void World::take(const exs_event_t& event) {
  const auto id = reinterpret_cast<std::uint64_t>(event.exs_evt_ahandle);
  ++outcome_.events;
  outcome_.failed += event.exs_evt_errno != 0 ? 1 : 0;
  outcome_.hash =
      exs::sim::mixed(outcome_.hash + id * 1000 + static_cast<std::uint64_t>(event.exs_evt_type)) ^
      static_cast<std::uint64_t>(event.exs_evt_errno);
  if (id == 0 || id > operations_.size()) wrong("an event of no operation: " + name_of(event));
  Operation& operation = operations_[id - 1];
  if (operation.done) wrong("a second event of operation " + std::to_string(id) + ": " + name_of(event));
  if (operation.type != event.exs_evt_type || operation.socket != event.exs_evt_socket)
    wrong("an event of another kind: " + name_of(event));
  if (closed_.contains(event.exs_evt_socket)) wrong("an event after the close: " + name_of(event));
  operation.done = true;
  --open_;
  if (event.exs_evt_errno != 0 && !may_fail_with(event.exs_evt_errno))
    wrong("an error that nothing explains: " + name_of(event));
  switch (event.exs_evt_type) {
    case EXS_EVT_CONNECT: take_connected(operation, event); break;
    case EXS_EVT_ACCEPT: take_accepted(event); break;
    case EXS_EVT_SEND: take_sent(operation, event); break;
    case EXS_EVT_RECV: take_received(operation, event); break;
    case EXS_EVT_CLOSE:
      closed_[event.exs_evt_socket] = id;
      if (operation.end != nullptr) operation.end->open = false;
      break;
    default: break;
  }
  if (operation.region != EXS_MHANDLE_UNREGISTERED && exs_mderegister(operation.region, 0) != 0)
    wrong(std::string("the memory of an operation that has ended: ") + exs_errtext());
  operation.memory.reset();
}

void World::take_connected(const Operation& operation, const exs_event_t& event) {
  operation.end->open = event.exs_evt_errno == 0;
}

// The peer's port tells whose connection it is.
void World::take_accepted(const exs_event_t& event) {
  if (event.exs_evt_errno != 0) return;
  const int socket = exs_event_new_socket(&event);
  closed_.erase(socket);
  sockaddr_in peer{};
  socklen_t length = sizeof peer;
  exs_getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &length);
  // A port may have been another's before.
  const auto found = std::find_if(links_.rbegin(), links_.rend(), [&](const auto& link) {
    return link->right.socket < 0 && link->port == peer.sin_port;
  });
  if (found != links_.rend()) {
    (*found)->right.socket = socket;
    (*found)->right.open = true;
    return;
  }
  // It is lost already, and nobody knows its peer.
  links_.push_back(std::make_unique<Link>());
  Link& left_over = *links_.back();
  left_over.left.link = left_over.right.link = &left_over;
  left_over.left.is_left = true;
  left_over.right.socket = socket;
  close(left_over.right);
}

void World::take_sent(Operation& operation, const exs_event_t& event) {
  End& end = *operation.end;
  if (operation.memory == end.window) {
    end.persistent = false;
    return;
  }
  --end.sends;
  const bool failed = event.exs_evt_errno != 0;
  if (end.link->kind == Kind::kMessages) {
    Flow::Message& message = flow_from(end).messages[operation.message];
    message.ended = true;
    message.failed = failed;
  }
  if (failed) return;
  // A receive with less room takes less of a message, which the sender gets to know.
  const std::size_t length = exs_event_bytes(&event);
  const bool may_be_cut = end.link->kind == Kind::kMessages;
  if (length > operation.length || (length < operation.length && !may_be_cut))
    wrong("a send of another length: " + name_of(event));
}

void World::take_received(Operation& operation, const exs_event_t& event) {
  End& end = *operation.end;
  if (operation.memory == end.window) {
    end.persistent = false;
    return check_window(operation, event);
  }
  --end.receives;
  const std::size_t length = exs_event_bytes(&event);
  if (event.exs_evt_errno != 0 && end.link->kind != Kind::kStream) return;
  if (length > operation.length) wrong("more bytes than room: " + name_of(event));
  Flow& flow = flow_to(end);
  const bool at_end = (event.exs_evt_flags & EXS_EVF_EOF) != 0;
  switch (end.link->kind) {
    case Kind::kMessages:
      if (!at_end) check_message(flow, operation, length, (event.exs_evt_flags & EXS_EVF_TRUNC) != 0);
      break;
    case Kind::kStream: check_stream(flow, operation, length); break;
    default:
      if (!at_end && (length != operation.length ||
                      !are_of_flow(*operation.memory, length, end.link->to_right.number, operation.offset)))
        wrong("a read of the peer's memory brought other bytes: " + name_of(event));
  }
  outcome_.bytes += length;
}

// Those that are passed over must have been cancelled, which their own events will say.
void World::check_message(Flow& flow, const Operation& operation, std::size_t length, bool truncated) {
  for (std::size_t i = flow.next_message; i < flow.messages.size(); ++i) {
    const std::size_t whole = flow.messages[i].length;
    const bool fits = truncated ? whole > operation.length && length == operation.length : whole == length;
    if (!fits || !are_of_flow(*operation.memory, length, flow.number, i * 64)) continue;
    for (std::size_t j = flow.next_message; j < i; ++j) flow.messages[j].skipped = true;
    flow.next_message = i + 1;
    return;
  }
  wrong("a message of " + std::to_string(length) + " bytes that was not sent, or not in this order");
}

void World::check_stream(Flow& flow, const Operation& operation, std::size_t length) {
  if (flow.received_bytes + length > flow.sent_bytes) wrong("a stream brought more than was sent");
  if (!are_of_flow(*operation.memory, length, flow.number, flow.received_bytes))
    wrong("a stream brought other bytes at " + std::to_string(flow.received_bytes));
  flow.received_bytes += length;
}

// The peer may have written any part of it, and nothing else.
void World::check_window(const Operation& operation, const exs_event_t& /*event*/) {
  const std::uint64_t flow = operation.end->link->to_right.number;
  for (std::size_t i = 0; i < operation.memory->size(); ++i) {
    const std::byte byte = (*operation.memory)[i];
    if (byte != std::byte{0} && byte != byte_at(flow, i)) wrong("other bytes in memory that the peer writes");
  }
}

void World::check_at_end() {
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const Operation& operation = operations_[i];
    if (!operation.done)
      wrong("operation " + std::to_string(i + 1) + " never ended: " + exs_evtname(operation.type) +
            " of socket " + std::to_string(operation.socket));
  }
  for (const auto& link : links_) {
    for (const Flow* const flow : {&link->to_right, &link->to_left}) {
      for (const Flow::Message& message : flow->messages) {
        if (message.skipped && !message.failed)
          wrong("a message was lost, and its send says that it was not");
      }
    }
  }
  std::size_t length = sizeof(int);
  int reserved = 0;
  if (exs_qstatus(queue_, EXS_QATTR_RESERVED_SLOTS, &reserved, &length) != 0 || reserved != 0)
    wrong(std::to_string(reserved) + " slots of the queue are still taken");
  for (const auto& link : links_) {
    if (link->left.socket >= 0 && !link->left.is_closing) wrong("a socket was never closed");
  }
}

}  // namespace exs::test::sim
