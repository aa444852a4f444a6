// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/listener.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/accept_errors.h"
#include "base/contain.h"
#include "base/kernel.h"
#include "base/socket_address.h"
#include "src/log/log.h"
#include "src/provider/iwarp/socket.h"
#include "src/provider/own_sockets.h"

namespace exs::iwarp {
namespace {

constexpr std::uint64_t kDefaultLimitNs = 5'000'000'000;
constexpr int kAcceptsPerEvent = 64;
// Connected peers without a request have places of their own, so that silent strangers never take those of
// the application. A peer whose time is over makes room for the next one. At most 5,120 silent peers a second
// can come.
constexpr std::size_t kHandshakesMax = 128;
constexpr std::uint64_t kUndisturbedNs = 25'000'000;
// A peer whose request waits this long for its accept is notified that the request is here.
constexpr std::uint64_t kPatienceNs = 100'000'000;

}  // namespace

IwarpListener::IwarpListener(PortContext& context, int descriptor, const ListenParameters& parameters,
                             std::uint64_t token)
    : context_(context), descriptor_(descriptor), parameters_(parameters), token_(token) {
  context_.listeners.push_back(this);
}

IwarpListener::~IwarpListener() {
  while (!requests_.empty()) take_request(requests_.front());
  if (listening_) context_.poller.remove(descriptor_);
  std::erase(context_.listeners, this);
}

Status IwarpListener::start() {
  const int flags = kernel::fcntl(descriptor_, F_GETFL);
  if (flags < 0 || kernel::fcntl(descriptor_, F_SETFL, flags | O_NONBLOCK) != 0) return Status(errno);
  const Status status = context_.poller.add(descriptor_, EPOLLIN, *this);
  listening_ = status.ok();
  return status;
}

std::unique_ptr<ConnectionRequest> IwarpListener::next_request() {
  if (requests_.empty()) return nullptr;
  std::unique_ptr<ConnectionRequest> request = take_request(requests_.front());
  pause_or_resume();
  return request;
}

std::unique_ptr<IncomingRequest> IwarpListener::take_request(Waiting& waiting) {
  std::unique_ptr<IncomingRequest> request = std::move(waiting.request_);
  context_.poller.remove(request->descriptor());
  if (first_untold_ == waiting.self_) ++first_untold_;
  requests_.erase(waiting.self_);
  return request;
}

// Anything but an end the application's part of the connection takes.
void IwarpListener::Waiting::ready(std::uint32_t) {
  if (!request_->peer_is_gone()) return;
  IwarpListener& listener = listener_;
  const auto gone = listener.take_request(*this);
  log(LogLevel::kInfo, "iwarp: {} has gone before it was accepted", name_of_peer(gone->descriptor()));
  listener.pause_or_resume();
}

bool IwarpListener::is_full() const noexcept {
  return requests_.size() >= std::max<std::uint32_t>(parameters_.backlog, 1);
}

bool IwarpListener::make_room() {
  if (handshakes_.size() < kHandshakesMax) return true;
  const auto silent = std::find_if(handshakes_.begin(), handshakes_.end(),
                                   [](const Handshake& handshake) { return !handshake.has_spoken_; });
  Handshake& leaving = silent == handshakes_.end() ? handshakes_.front() : *silent;
  const std::uint64_t undisturbed_until_ns = leaving.begun_ns_ + kUndisturbedNs;
  if (context_.now_ns < undisturbed_until_ns) {
    rests_until_ns_ = undisturbed_until_ns;
    return false;
  }
  if (!leaving.has_spoken_) {
    // A port that was starved has not read what it has said by now.
    leaving.ready(EPOLLIN);
    if (handshakes_.size() < kHandshakesMax) return !is_full();
    if (leaving.has_spoken_) return make_room();
  }
  drop(leaving, ETIMEDOUT, "no complete MPA request, and others wait");
  return true;
}

// A full listener leaves the epoll set. Further peers wait in the kernel and wake no thread.
void IwarpListener::pause_or_resume() {
  const bool wanted = !is_full() && rests_until_ns_ == 0;
  if (wanted == listening_) return;
  if (listening_) {
    context_.poller.remove(descriptor_);
    listening_ = false;
  } else {
    listening_ = context_.poller.add(descriptor_, EPOLLIN, *this).ok();
  }
}

void IwarpListener::ready(std::uint32_t) {
  for (int i = 0; i < kAcceptsPerEvent && !is_full() && rests_until_ns_ == 0; ++i) {
    if (!make_room() || !accept_one()) break;
  }
  pause_or_resume();
}

bool IwarpListener::accept_one() {
  const auto accepted = OwnSockets::open(
      [this] { return kernel::accept4(descriptor_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); });
  if (!accepted) {
    const int error = accepted.error().error();
    if (error == EAGAIN) return false;
    if (is_peers_error(error)) return true;
    if (!std::exchange(starved_, true)) {
      log(LogLevel::kWarn, "iwarp: accept4 failed: {}; trying again every 100 ms (raise ulimit -n?)",
          std::strerror(error));
    }
    rests_until_ns_ = context_.now_ns + kAcceptRetryNs;
    return false;
  }
  starved_ = false;
  const int descriptor = *accepted;
  contain([&] { begin_handshake(descriptor); }, [&] { turn_away(descriptor); });
  return true;
}

void IwarpListener::begin_handshake(int descriptor) {
  const std::uint64_t limit_ns =
      parameters_.handshake_limit_ns != 0 ? parameters_.handshake_limit_ns : kDefaultLimitNs;
  Handshake& handshake = handshakes_.emplace_back(*this, descriptor, context_.now_ns, limit_ns);
  handshake.self_ = std::prev(handshakes_.end());
  if (const Status status = context_.poller.add(descriptor, EPOLLIN, handshake); !status.ok()) {
    handshakes_.pop_back();
  } else {
    handshake.ready(EPOLLIN);  // most peers have sent their request by now
  }
}

void IwarpListener::turn_away(int descriptor) noexcept {
  log(LogLevel::kWarn, "iwarp: incoming connection from {} dropped: no memory for it",
      name_of_peer(descriptor));
  kernel::close(descriptor);
}

IwarpListener::Handshake::~Handshake() {
  if (descriptor_ < 0) return;
  listener_.context_.poller.remove(descriptor_);
  kernel::close(descriptor_);
}

void IwarpListener::Handshake::ready(std::uint32_t) {
  if (descriptor_ < 0) return;
  contain([this] { take_bytes(); }, [this] { listener_.drop(*this, ENOMEM, "no memory for it"); });
}

void IwarpListener::Handshake::take_bytes() {
  const std::span<std::byte> room = collector_->room();
  const ssize_t bytes = kernel::recv(descriptor_, room.data(), room.size(), MSG_DONTWAIT);
  if (bytes < 0) {
    if (errno != EAGAIN && errno != EINTR) listener_.drop(*this, errno, "recv failed");
    return;
  }
  if (bytes == 0) {
    listener_.drop(*this, ECONNRESET, "closed before its MPA request was complete");
    return;
  }
  has_spoken_ = true;
  switch (collector_->filled(static_cast<std::size_t>(bytes))) {
    case MpaCollector::Progress::kMore: return;
    case MpaCollector::Progress::kBad: listener_.drop(*this, EPROTO, collector_->problem()); return;
    case MpaCollector::Progress::kComplete: listener_.request_complete(*this); return;
  }
}

// Throws std::bad_alloc while nothing has changed.
void IwarpListener::request_complete(Handshake& handshake) {
  const int descriptor = handshake.descriptor_;
  context_.completions.make_room();
  auto request = std::make_unique<IncomingRequest>(descriptor, std::move(handshake.collector_));
  std::list<Waiting> made;
  made.emplace_back(*this, nullptr, context_.now_ns);
  context_.poller.remove(descriptor);
  handshake.descriptor_ = -1;
  retire(handshake);
  if (request->frame().markers) {  // its end rejects it
    log(LogLevel::kInfo, "iwarp: {} asks for MPA markers, which are not supported: rejected",
        name_of_peer(descriptor));
    return pause_or_resume();
  }
  // Without a watch, the accept finds that the peer has gone.
  [[maybe_unused]] const Status watched = context_.poller.add(descriptor, EPOLLRDHUP | EPOLLET, made.front());
  made.front().request_ = std::move(request);
  made.front().self_ = made.begin();
  const bool are_told = first_untold_ == requests_.end();
  requests_.splice(requests_.end(), made);
  if (are_told) first_untold_ = std::prev(requests_.end());
  context_.completions.push(*completions_, {CompletionKind::kRequest, {}, 0, token_, 0});
}

void IwarpListener::drop(Handshake& handshake, int error, const char* why) {
  log(LogLevel::kInfo, "iwarp: incoming connection from {} dropped: {}: {}",
      name_of_peer(handshake.descriptor_), why, std::strerror(error));
  context_.poller.remove(handshake.descriptor_);
  kernel::close(std::exchange(handshake.descriptor_, -1));
  retire(handshake);
  pause_or_resume();
}

// Another one of the same batch of events may end it, to make room.
void IwarpListener::retire(Handshake& handshake) {
  retired_.splice(retired_.end(), handshakes_, handshake.self_);
}

void IwarpListener::tell_waiting() {
  for (; first_untold_ != requests_.end() && first_untold_->since_ns_ + kPatienceNs <= context_.now_ns;
       ++first_untold_)
    first_untold_->request_->tell_received();
}

void IwarpListener::check_deadlines() {
  retired_.clear();  // the batch is over
  tell_waiting();
  while (!handshakes_.empty() && handshakes_.front().deadline_ns_ <= context_.now_ns) {
    drop(handshakes_.front(), ETIMEDOUT, "no complete MPA request in time");
  }
  if (rests_until_ns_ != 0 && rests_until_ns_ <= context_.now_ns) {
    rests_until_ns_ = 0;
    pause_or_resume();
  }
}

std::uint64_t IwarpListener::next_deadline_ns() const noexcept {
  std::uint64_t deadline_ns = handshakes_.empty() ? kNoDeadline : handshakes_.front().deadline_ns_;
  if (rests_until_ns_ != 0) deadline_ns = std::min(deadline_ns, rests_until_ns_);
  if (first_untold_ != requests_.end())
    deadline_ns = std::min(deadline_ns, first_untold_->since_ns_ + kPatienceNs);
  return deadline_ns;
}

}  // namespace exs::iwarp
