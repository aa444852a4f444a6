// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/control.h"

#include "base/check.h"
#include "base/refusal.h"
#include "event/queue/wait.h"
#include "event/session/plain_acceptor.h"
#include "src/api/adopt.h"
#include "src/api/refusals.h"
#include "src/log/log.h"

namespace exs {
namespace {

// Accepted sockets inherit the listener's options.
RegisterSession registrar(Library& library, int domain, const SocketOptions& options) {
  return [&library, domain, options](const std::shared_ptr<Session>& session) {
    const auto socket = std::make_shared<Socket>(session, domain, options);
    if (const Status status = insert_socket(library, socket); !status.ok()) session->abort(status);
  };
}

}  // namespace

Result<ControlTarget> claim_target(Library& library, exs_qhandle_t handle, exs_ahandle_t ahandle) {
  auto queue = library.queues.find(handle);
  if (!queue) return failure(no_such_queue(handle));
  if (const Status status = queue->home()->start_engine(); !status.ok()) return failure(status);
  if (!queue->reserve()) return failure(queue_is_full(*queue));
  return ControlTarget{std::move(queue), ahandle};
}

std::shared_ptr<Acceptor> acceptor_of(Library& library, Socket& socket, const std::shared_ptr<Shard>& shard) {
  auto& acceptor = socket.acceptor();
  if (!acceptor) {
    const AcceptorOptions options{.session = socket.options().session(SocketOptions::kListenDefaultMs),
                                  .backlog = static_cast<std::uint32_t>(socket.backlog())};
    auto register_session = registrar(library, socket.domain(), socket.options());
    if (socket.adopted() == Adopted::kNo) {
      acceptor = std::make_shared<Acceptor>(shard, socket.descriptor(), std::move(socket.listening_points()),
                                            options, std::move(register_session));
    } else {
      acceptor =
          std::make_shared<PlainAcceptor>(shard, socket.descriptor(), options, std::move(register_session));
    }
  }
  return acceptor;
}

std::uint32_t cancel_on(Socket& socket, const proto::Selection& selection) {
  std::shared_ptr<Session> session;
  std::shared_ptr<Acceptor> acceptor;
  {
    LockGuard guard(socket.mutex);
    session = socket.shared_session();
    acceptor = socket.acceptor();
  }
  std::uint32_t matched = 0;
  if (session) session->shard()->carry_out([&] { matched = session->cancel(selection); });
  if (acceptor) acceptor->shard()->carry_out([&] { matched = acceptor->cancel(selection); });
  return matched;
}

Status told_by(Socket& socket, int error) {
  Session* const session = error == 0 || error == EINTR ? nullptr : socket.session();
  const std::string text = session == nullptr ? std::string() : session->error_text();
  return text.empty() ? Status(error) : refuse_in_words(error, text);
}

Result<PrivateQueue> PrivateQueue::create(Library& library) {
  const auto shard = library.next_shard();
  if (!shard) return failure(shard.error());
  if (const Status status = (*shard)->start_engine(); !status.ok()) return failure(status);
  return PrivateQueue(*shard);
}

ControlTarget PrivateQueue::target() const {
  [[maybe_unused]] const bool reserved = queue_->reserve();
  EXS_CHECK(reserved);
  return {queue_, queue_.get()};
}

exs_event_t PrivateQueue::await(const std::function<void()>& interrupted) const {
  exs_event_t event{};
  bool told = false;
  for (;;) {
    const auto taken = wait_for_events(*queue_, &event, 1, 1, WaitLimit::until(kNoDeadline));
    if (taken && *taken == 1) return event;
    if (told || (taken.has_value())) continue;
    told = true;
    interrupted();
  }
}

}  // namespace exs
