// SPDX-License-Identifier: BSD-2-Clause
#include "event/session/plain_acceptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/accept_errors.h"
#include "base/kernel.h"
#include "base/socket_cookie.h"
#include "event/session/plain_session.h"
#include "src/log/log.h"

namespace exs {
namespace {

bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

bool is_readable(int number) {
  pollfd asked{number, POLLIN, 0};
  return kernel::poll(&asked, 1, 0) > 0;
}

}  // namespace

class PlainAcceptor::PlainListener final : public PortListener {
 public:
  explicit PlainListener(PlainAcceptor& acceptor) : acceptor_(acceptor) {}
  ~PlainListener() override { acceptor_.unwatch(); }
  PlainListener(const PlainListener&) = delete;
  PlainListener& operator=(const PlainListener&) = delete;
  std::unique_ptr<ConnectionRequest> next_request() override { return acceptor_.accept_next(); }

 private:
  PlainAcceptor& acceptor_;
};

class PlainAcceptor::PlainRequest final : public ConnectionRequest {
 public:
  explicit PlainRequest(UniqueFd descriptor) : descriptor_(std::move(descriptor)) {}
  [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return {}; }
  [[nodiscard]] int descriptor() const noexcept override { return descriptor_.get(); }
  int release_descriptor() noexcept override { return descriptor_.release(); }
  void reject(std::span<const std::byte>) noexcept override { descriptor_.reset(); }
  [[nodiscard]] bool peer_is_gone() const noexcept override { return false; }  // its bytes may still be read

 private:
  UniqueFd descriptor_;
};

PlainAcceptor::PlainAcceptor(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor,
                             const AcceptorOptions& options, RegisterSession register_session)
    : Acceptor(std::move(shard), std::move(descriptor), {}, options, std::move(register_session)),
      closed_check_(*this->shard(), [this] { return still_waits(); }),
      starved_([this](std::uint64_t) { step(); }) {}

Result<std::unique_ptr<PortListener>> PlainAcceptor::open_listener() {
  return std::make_unique<PlainListener>(*this);
}

std::unique_ptr<ConnectionRequest> PlainAcceptor::next_acceptable(PortListener& listener, proto::Agreement&) {
  return listener.next_request();
}

std::unique_ptr<ConnectionRequest> PlainAcceptor::accept_next() {
  shard()->assert_held();
  for (;;) {
    if (!descriptor()->is_there()) {
      fail_accepts(ECANCELED);
      return nullptr;
    }
    const auto readiness = shard()->readiness();
    const Result<int> accepted =
        readiness ? (*readiness)->accept(descriptor()->number()) : failure(readiness.error());
    is_short_ = !accepted && is_shortage(accepted.error().error()) && is_short_;
    if (accepted) return std::make_unique<PlainRequest>(UniqueFd(*accepted));
    const int error = accepted.error().error();
    if (is_peers_error(error)) continue;
    if (error == EAGAIN) {
      watch();
    } else if (is_shortage(error)) {
      starve(error);
    } else {
      fail_accepts(error);
    }
    return nullptr;
  }
}

void PlainAcceptor::establish(Shard& shard, AcceptableRequest acceptable,
                              const std::shared_ptr<Handover>& handover) {
  const int number = acceptable.request->descriptor();
  auto descriptor = KernelDescriptor::adopt(number, socket_cookie(number).value_or(0));
  const SessionOptions& wishes = options().session;
  auto session =
      std::make_shared<PlainSession>(shard.shared_from_this(), std::move(descriptor), wishes.operations_max);
  session->set_label(wishes.label);
  if (wishes.keepalive_ns != 0) session->set_keepalive(wishes.keepalive_ns);
  session->inherit_limit(proto::Direction::kSend, wishes.send_limit);
  session->inherit_limit(proto::Direction::kReceive, wishes.receive_limit);
  acceptable.request->release_descriptor();
  established(*handover, std::shared_ptr<Session>(session));
}

// Does not accept: the application may want to do that by a plain call.
bool PlainAcceptor::has_request() {
  if (descriptor()->is_there() && is_readable(descriptor()->number())) return true;
  watch();
  return false;
}

void PlainAcceptor::complete(const Completion& completion) {
  shard()->assert_held();
  if (completion.kind != CompletionKind::kReadiness) return;
  watched_ = false;
  step();
}

void PlainAcceptor::watch() {
  shard()->assert_held();
  closed_check_.start(shared_from_this());
  if (watched_) return;
  const auto readiness = shard()->readiness();
  const Status status =
      readiness ? (*readiness)->watch(descriptor()->number(), EPOLLIN, token()) : readiness.error();
  watched_ = status.ok();
  if (!watched_) fail_accepts(descriptor()->is_there() ? status.error() : ECANCELED);
}

void PlainAcceptor::unwatch() {
  shard()->assert_held();
  if (watched_ && descriptor()->is_there()) (*shard()->readiness())->unwatch(descriptor()->number(), token());
  watched_ = false;
}

void PlainAcceptor::starve(int error) {
  if (!std::exchange(is_short_, true)) {
    log(LogLevel::kWarn, "socket {}: accept4 failed: {}; trying again every 100 ms (raise ulimit -n?)",
        descriptor()->number(), std::strerror(error));
  }
  starved_.set(*shard(), shard()->clock().now_ns() + kAcceptRetryNs, shared_from_this());
}

bool PlainAcceptor::still_waits() {
  if (!waited_for()) return false;
  if (descriptor()->is_there()) return true;
  log(LogLevel::kWarn, "socket {} was closed with operations open, which end with ECANCELED; use exs_close",
      descriptor()->number());
  cancel({});
  return false;
}

}  // namespace exs
