// The link's messages, windows and end.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/link.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/contain.h"
#include "base/guarded_copy.h"
#include "src/log/log.h"
#include "src/provider/shm/region_address.h"

namespace exs::shm {
namespace {

// A peer whose ring is full says its goodbye late, after its TCP connection has ended.
constexpr std::uint64_t kGoodbyeLimitNs = 200'000'000;

bool is_too_long(std::span<const std::byte> header, const LocalSlice& payload) {
  return header.size() > kMessageBytesMax || payload.length_bytes > kMessageBytesMax - header.size();
}

}  // namespace

ShmLink::ShmLink(PortContext& context, ChannelTraffic& traffic, ChannelSlot slot, int descriptor,
                 const ConnectParameters& parameters, std::uint64_t token, const TagKey& tag_key)
    : context_(context),
      traffic_(traffic),
      slot_(std::move(slot)),
      peer_number_(slot_.peer_number()),
      descriptor_(descriptor),
      depths_(parameters.depths),
      token_(token),
      windows_(tag_key),
      private_data_(parameters.private_data.begin(), parameters.private_data.end()) {}

ShmLink::~ShmLink() {
  if (!is_over()) close();
}

Status ShmLink::start() {
  traffic_.make_room_for_link();
  if (const Status status = context_.poller.add(descriptor_, EPOLLIN | EPOLLRDHUP, *this); !status.ok()) {
    return status;
  }
  watched_ = true;
  slot_.channel().links().attach(slot_.our_number(), *this);
  if (!slot_.sends_ready()) return {};
  state_ = State::kOpen;
  QueuedPost greeting{QueuedKind::kReady, nullptr, 0, {}, {}, false, 0};
  if (!send(greeting)) queue(std::move(greeting));
  return {};
}

// ---------------------------------------------------------------- messages

Status ShmLink::post_send(std::span<const std::byte> header, LocalSlice payload, std::uint64_t token) {
  if (is_over()) return Status(ENOTCONN);
  if (is_too_long(header, payload)) return Status(EMSGSIZE);
  const Status sent = send_now(header, payload);
  if (sent.ok()) {
    complete(CompletionKind::kSend, {}, token);
    return {};
  }
  if (sent.error() == EFAULT) return memory_fault();
  if (sends_queued_ >= depths_.sends) return Status(EAGAIN);
  auto copy = header.empty() ? nullptr : std::make_unique<std::byte[]>(header.size());
  if (!header.empty()) std::memcpy(copy.get(), header.data(), header.size());
  ++sends_queued_;
  queue({QueuedKind::kSend,
         std::move(copy),
         header.size(),
         {payload.address, payload.length_bytes},
         {},
         false,
         token});
  return {};
}

Status ShmLink::send_now(std::span<const std::byte> header, LocalSlice payload) noexcept {
  if (state_ != State::kOpen || !send_queue_.empty() || is_too_long(header, payload)) return Status(EAGAIN);
  const std::span<const std::byte> body(payload.address, payload.length_bytes);
  if (traffic_.write(RecordKind::kMessage, peer_number_, header, body)) return {};
  return Status(traffic_.payload_is_gone() ? EFAULT : EAGAIN);
}

bool ShmLink::send_short(std::span<const std::byte> header, LocalSlice payload) noexcept {
  if (state_ != State::kOpen || !send_queue_.empty() || is_too_long(header, payload)) return false;
  return traffic_.write_and_ring(RecordKind::kMessage, peer_number_, header,
                                 {payload.address, payload.length_bytes});
}

Status ShmLink::post_recv(LocalSlice into, std::uint64_t token) {
  if (is_over()) return Status(ENOTCONN);
  if (receives_.count() >= depths_.receives) return Status(EAGAIN);
  receives_.push({{into.address, into.length_bytes}, token});
  return {};
}

void ShmLink::on_message(std::uint32_t length_bytes, const RingReader& ring) {
  if (shows(ring)) return;
  if (is_over()) return;
  if (receives_.empty()) return fault("a message without a receive for it");
  const PostedReceive receive = receives_.last();
  if (length_bytes > receive.memory.size()) return fault("a message that is too long");
  ring.copy(0, receive.memory.first(length_bytes));
  receives_.pop();
  complete(CompletionKind::kReceive, {}, receive.token, length_bytes);
}

void ShmLink::queue(QueuedPost outgoing) {
  send_queue_.push_back(std::move(outgoing));
  if (state_ == State::kOpen) traffic_.add_busy(*this);
}

bool ShmLink::send(QueuedPost& message) {
  if (message.kind == QueuedKind::kReady) return traffic_.write(RecordKind::kReady, peer_number_, {});
  if (!traffic_.write(RecordKind::kMessage, peer_number_, {message.header.get(), message.header_bytes},
                      message.payload)) {
    if (traffic_.payload_is_gone()) memory_gone();
    return false;
  }
  --sends_queued_;
  complete(CompletionKind::kSend, {}, message.token);
  return true;
}

void ShmLink::on_peer_ready() {
  if (state_ != State::kAwaitingPeer) return fault("a second greeting");
  state_ = State::kOpen;
  if (!send_queue_.empty() || !reads_.empty()) traffic_.add_busy(*this);
}

Progress ShmLink::continue_work() {
  Progress progress = serve_reads();
  if (!is_over()) progress = std::max(progress, send_queued());
  if (!is_over()) progress = std::max(progress, read_steps());
  return is_over() ? Progress::kIdle : progress;
}

// ---------------------------------------------------------------- windows

Result<RemoteSlice> ShmLink::expose(LocalSlice memory, Access access) {
  if (is_over()) return failure(ENOTCONN);
  const std::uint64_t announced = traffic_.announced_address(memory);
  const std::uint64_t address = announced != 0 ? announced : reinterpret_cast<std::uintptr_t>(memory.address);
  const auto key = windows_.open({memory.address, memory.length_bytes}, access, address);
  if (!key) return failure(key.error());
  return RemoteSlice{address, memory.length_bytes, *key};
}

Status ShmLink::withdraw(std::uint32_t key) {
  if (is_over()) return {};  // every window was shut with the link
  return windows_.close(key);
}

Result<SharedMemory> ShmLink::map(RemoteSlice window) {
  const bool is_mapped = !is_over() && traffic_.memory.method_for(window.address, window.length_bytes) ==
                                           PeerMemory::Method::kMapped;
  if (!is_mapped) return failure(EOPNOTSUPP);
  const PeerRegions::View& region = *traffic_.channel().region(region_of(window.address));
  return SharedMemory{
      {region.start + offset_of(window.address), static_cast<std::size_t>(window.length_bytes)},
      region.mapping};
}

// ---------------------------------------------------------------- the end

void ShmLink::ready(std::uint32_t events) {
  contain([&] { take_events(events); }, [this] { out_of_memory(); });
}

void ShmLink::take_events(std::uint32_t events) {
  if (is_over()) return;
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
    end_due_.start(0);
  } else if ((events & EPOLLRDHUP) != 0) {
    end_due_.start(kGoodbyeLimitNs);
  } else if ((events & EPOLLIN) != 0) {
    return fault(
        "plain bytes came from the peer, whose program wrote to its exs socket by itself (exs_send is the "
        "way to send)");
  }
  context_.poller.change(descriptor_, 0, *this);
  std::erase(context_.ending, this);
  context_.ending.push_back(this);
}

bool ShmLink::on_tcp_end(std::uint64_t now_ns) {
  if (!end_due_.is_due(now_ns)) return false;
  end(exs::fault(LogLevel::kInfo, ECONNRESET, "shm: process {} went without a goodbye",
                 traffic_.channel().peer_pid()),
      Ending::kLost);
  return true;
}

void ShmLink::on_peer_end(Ending ending) {
  switch (ending) {
    case Ending::kOrderly: return end({}, Ending::kOrderly);
    case Ending::kLost: return end(Status(ECONNRESET), Ending::kOrderly);
    default: break;
  }
  end(exs::fault(LogLevel::kWarn, EPROTO, "shm: process {} says that this end broke the rules",
                 traffic_.channel().peer_pid()),
      Ending::kOrderly);
}

void ShmLink::fault(const char* what) {
  end(exs::fault(LogLevel::kWarn, EPROTO, "shm: {} from process {}", what, traffic_.channel().peer_pid()),
      Ending::kFault);
}

Status ShmLink::memory_fault() const {
  return exs::fault(
      LogLevel::kWarn, EFAULT,
      "shm: memory of an operation was unmapped, or lost its rights, before its event, so the connection to "
      "process {} ends: EFAULT; unmap, protect or free memory after the event",
      traffic_.channel().peer_pid());
}

void ShmLink::close() noexcept {
  if (!is_over()) {
    // Half a write is no orderly end.
    const bool cut = !send_queue_.empty() && send_queue_.front().begun;
    shut(Status(ECANCELED), cut ? Ending::kLost : Ending::kOrderly);
  }
  state_ = State::kClosed;
}

void ShmLink::end(Status status, Ending ending) noexcept {
  if (is_over()) return;
  // A peer that ends in order still leaves posts that cannot be carried out any more.
  shut(status.ok() ? Status(ECONNRESET) : status, ending);
  context_.completions.push_last(*completions_, {CompletionKind::kDisconnected, status, 0, token_, 0});
}

void ShmLink::shut(Status status, Ending ending) noexcept {
  state_ = State::kEnded;
  if (watched_) context_.poller.remove(descriptor_);
  watched_ = false;
  std::erase(context_.ending, this);
  traffic_.remove_busy(*this);
  for (; !send_queue_.empty(); send_queue_.pop_front()) {
    const QueuedPost& left = send_queue_.front();
    if (left.kind == QueuedKind::kSend) complete_cut(CompletionKind::kSend, status, left.token);
    if (left.kind == QueuedKind::kWrite) complete_cut(CompletionKind::kWrite, status, left.token);
  }
  for (; !reads_.empty(); reads_.pop_front()) {
    PendingRead& read = reads_.front();
    end_timing(read, 0);
    if (read.state == ReadState::kAsked || read.state == ReadState::kServed)
      traffic_.claims.close(read.ticket);
    complete_cut(CompletionKind::kRead, status, read.token);
  }
  receives_.for_each(
      [&](const PostedReceive& receive) { complete_cut(CompletionKind::kReceive, status, receive.token); });
  receives_.clear();
  served_reads_.clear();
  windows_.clear();
  traffic_.link_closed(slot_.our_number(), peer_number_, ending);
  slot_ = {};
  shut_down(descriptor_, cookie_, SHUT_WR);
}

}  // namespace exs::shm
