// exs_close, exs_shutdown, and their asynchronous forms.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/close.h"
#include "base/check.h"

#include <algorithm>

#include "event/queue/wait.h"
#include "src/api/adopt.h"
#include "src/api/api_call.h"
#include "src/api/control.h"
#include "src/api/counters.h"
#include "src/log/log.h"

namespace exs {
namespace {

constexpr int kLingerAtExitMs = 500;
// How much longer than the linger a call waits for the event that the session's own timer guarantees.
constexpr std::uint64_t kPatienceNs = 5'000 * kNsPerMs;

std::shared_ptr<Shard> shard_of(Socket& socket) {
  LockGuard guard(socket.mutex);
  if (socket.acceptor()) return socket.acceptor()->shard();
  return socket.session() == nullptr ? nullptr : socket.session()->shard();
}

std::uint64_t linger_ns_of(Socket& socket) {
  LockGuard guard(socket.mutex);
  return static_cast<std::uint64_t>(socket.options().linger_ms) * kNsPerMs;
}

// A socket of our own whose number the application has closed: there is nothing to linger for.
bool is_lost(const Socket& socket) {
  if (socket.adopted() != Adopted::kNo || socket.descriptor()->is_there()) return false;
  log(LogLevel::kWarn,
      "socket {}: it was closed by close(2), and is none any more; what the number means now stays open: "
      "EBADF (end "
      "exs sockets by exs_close)",
      socket.number());
  socket.descriptor()->set_lost();
  return true;
}

Status closed_by_others(int number) {
  return refuse(
      EBADF,
      "{} was closed by close(2), and what it means now stays open: end sockets of exs by exs_close alone",
      number);
}

// The close of one socket on its shard, and all the memory that takes: made before the socket leaves the table.
class Closing final : public Task {
 public:
  Closing(Library& library, ControlTarget target) : library_(library), target_(std::move(target)) {}

  // `closing` closes a socket that the caller has removed from the table. Pushes EXS_EVT_CLOSE when it is done.
  static void start(std::unique_ptr<Closing> closing, Socket& socket, std::uint64_t linger_ns) {
    closing->linger_ns_ = is_lost(socket) ? 0 : linger_ns;
    LockGuard guard(socket.mutex);
    socket.limits() = {};
    closing->acceptor_ = socket.acceptor();
    if (!closing->acceptor_) closing->session_ = socket.shared_session();
    if (closing->acceptor_) {
      const auto shard = closing->acceptor_->shard();
      shard->execute(std::move(closing));
    } else if (closing->session_) {
      const auto shard = closing->session_->shard();
      shard->execute(std::move(closing));
    } else {
      const ControlTarget& target = closing->target_;
      target.queue->push(control_event(target, *socket.descriptor(), EXS_EVT_CLOSE, 0), socket.descriptor());
    }
  }

  void run(Shard&) override {
    if (acceptor_) return acceptor_->close(target_);
    session_->set_on_closed(
        [&library = library_](const Session& closed) { library.add_to_totals(stats_on_shard(closed)); });
    session_->close(linger_ns_, std::move(target_));
  }

 private:
  Library& library_;
  ControlTarget target_;
  std::shared_ptr<Acceptor> acceptor_;
  std::shared_ptr<Session> session_;
  std::uint64_t linger_ns_ = 0;
};

ControlTarget place_on(const std::shared_ptr<EventQueue>& queue) {
  [[maybe_unused]] const bool reserved = queue->reserve();
  EXS_CHECK(reserved);
  return {queue, nullptr};
}

std::uint64_t deadline_of_close(const EventQueue& queue, std::uint64_t linger_ns) {
  return queue.home()->clock().deadline_after(linger_ns + kPatienceNs);
}

// Waits for one EXS_EVT_CLOSE, through caught signals, until the deadline.
int collect_close(EventQueue& queue, std::uint64_t deadline_ns) {
  exs_event_t event{};
  for (;;) {
    const auto taken = wait_for_events(queue, &event, 1, 1, WaitLimit::until(deadline_ns));
    if (taken) return *taken == 1 ? event.exs_evt_errno : ETIMEDOUT;
    if (taken.error() != Status(EINTR)) return taken.error().error();
  }
}

Status shut_down(Library& library, int number, int how, const std::function<Result<ControlTarget>()>& claim) {
  const auto socket = find_socket(library, number);
  if (!socket) return no_such_socket(number);
  if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
    return refuse(EINVAL, "{} is none of SHUT_RD, SHUT_WR and SHUT_RDWR", how);
  if (const Status status = assign_any_home(library, *socket); !status.ok()) return status;
  const auto session = socket->shared_session();
  if (!session || session->state() != Session::State::kConnected)
    return refuse(ENOTCONN, "the socket is not connected, or not any more");
  auto target = claim();
  if (!target) return target.error();
  ClaimedSlot slot(*target);
  auto task =
      make_task([session, how, target = *target]() mutable { session->shutdown(how, std::move(target)); });
  slot.hand_over();
  if (how != SHUT_RD) session->forbid_sending();
  session->shard()->execute(std::move(task));
  return Status();
}

// A socket that exs_fini closes.
struct LastClose {
  std::shared_ptr<Socket> socket;
  std::unique_ptr<Closing> closing;
  std::shared_ptr<EventQueue> queue;
};

// All that closing takes: from here on no memory is needed. Throws std::bad_alloc while nothing has changed.
std::vector<LastClose> prepare_closes(Library& library) {
  std::vector<LastClose> closes;
  auto sockets = library.sockets.all();
  closes.reserve(sockets.size());
  std::shared_ptr<EventQueue> queue;
  for (auto& socket : sockets) {
    const auto shard = shard_of(*socket);
    if (shard && !queue) queue = std::make_shared<EventQueue>(sockets.size(), shard);
    auto closing = shard ? std::make_unique<Closing>(library, place_on(queue)) : nullptr;
    closes.push_back({std::move(socket), std::move(closing), shard ? queue : nullptr});
  }
  return closes;
}

// False: there was nothing to wait for.
bool close_those_there(Library& library) {
  auto closes = prepare_closes(library);
  std::uint64_t deadline_ns = kNoDeadline;
  std::size_t started = 0;
  EventQueue* queue = nullptr;
  for (LastClose& each : closes) {
    if (!release_socket(library, each.socket) || !each.closing) continue;
    if (started == 0) deadline_ns = deadline_of_close(*each.queue, kLingerAtExitMs * kNsPerMs);
    const std::uint64_t linger_ns = std::min(linger_ns_of(*each.socket), kLingerAtExitMs * kNsPerMs);
    Closing::start(std::move(each.closing), *each.socket, linger_ns);
    queue = each.queue.get();
    ++started;
  }
  for (std::size_t i = 0; i < started; ++i) collect_close(*queue, deadline_ns);
  return started > 0;
}

}  // namespace

// An accept in progress may still make a connection while listening sockets are being closed. That connection
// is in the table before the close event of its listening socket.
void close_all(Library& library) {
  while (close_those_there(library)) continue;
}

}  // namespace exs

using namespace exs;

int exs_close(int number) {
  return api_call([&](Library& library) -> Result<int> {
    const auto found = find_socket(library, number);
    const auto its_shard = found ? shard_of(*found) : nullptr;
    // Made while a lack of memory changes nothing.
    auto queue = its_shard ? std::make_shared<EventQueue>(1, its_shard) : nullptr;
    auto closing = queue ? std::make_unique<Closing>(library, place_on(queue)) : nullptr;
    const auto socket = remove_socket(library, number);
    if (!socket) return failure(no_such_socket(number));
    const auto shard = shard_of(*socket);
    if (!shard) return is_lost(*socket) ? failure(closed_by_others(number)) : Result<int>(0);
    if (!queue || queue->home() != shard) {  // another thread has begun to connect or accept meanwhile
      queue = std::make_shared<EventQueue>(1, shard);
      closing = std::make_unique<Closing>(library, place_on(queue));
    }
    const std::uint64_t linger_ns = linger_ns_of(*socket);
    Closing::start(std::move(closing), *socket, linger_ns);
    const int error = collect_close(*queue, deadline_of_close(*queue, linger_ns));
    if (error == ETIMEDOUT)
      return failure(refuse(ETIMEDOUT,
                            "the peer did not take all that was sent within {} ms (EXS_SO_LINGER_MS); the "
                            "socket is closed, the rest is lost",
                            linger_ns / kNsPerMs));
    if (error == EBADF) return failure(closed_by_others(number));
    if (error != 0) return failure(error);
    return 0;
  });
}

int exs_close_async(int number, int flags, exs_qhandle_t queue, exs_ahandle_t handle) {
  return api_call([&](Library& library) -> Result<int> {
    if (!find_socket(library, number)) return failure(no_such_socket(number));
    if (flags != 0) return failure(no_such_flags(flags));
    auto target = claim_target(library, queue, handle);
    if (!target) return failure(target.error());
    ClaimedSlot slot(*target);
    auto closing = std::make_unique<Closing>(library, *target);
    const auto socket = remove_socket(library, number);
    if (!socket) return failure(no_such_socket(number));  // another thread has closed it
    slot.hand_over();
    Closing::start(std::move(closing), *socket, linger_ns_of(*socket));
    return 0;
  });
}

int exs_shutdown(int number, int how) {
  return api_call([&](Library& library) {
    return api_result(shut_down(library, number, how, [] { return ControlTarget{}; }));
  });
}

int exs_shutdown_async(int number, int how, exs_qhandle_t queue, exs_ahandle_t handle) {
  return api_call([&](Library& library) {
    return api_result(shut_down(library, number, how, [&] { return claim_target(library, queue, handle); }));
  });
}
