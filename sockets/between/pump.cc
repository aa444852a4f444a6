// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/between/pump.h"

#include <linux/futex.h>
#include <pthread.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/no_signals.h"
#include "sockets/between/program_side.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/kernel/spin.h"

namespace exs::sockets::between {
namespace {

constexpr std::uintptr_t kOpBits = 7;
constexpr int kQueueDepth = 16384;
constexpr std::int64_t kTickNs = 1'000'000;
constexpr std::size_t kStackBytes = std::size_t{256} << 10;

constexpr std::size_t kLinks = 512;
alignas(64) constinit HostLink links[kLinks] = {};
std::atomic<std::size_t> links_taken{0};
const LoadedLibrary* loaded = nullptr;
std::atomic<exs_qhandle_t> queue_handle{EXS_QHANDLE_INVALID};
std::atomic<std::uint32_t> stops{0};
std::atomic<bool> has_stopped{false};
int ticking = 0;  // links to look at again soon
enum class Life : std::uint32_t { kNone, kRuns, kFailed };
std::atomic<Life> life{Life::kNone};

void look_and_tick(HostLink& link) noexcept {
  const bool again = look_at(link);
  ticking += static_cast<int>(again) - static_cast<int>(link.pump.ticks);
  link.pump.ticks = again;
}

void take_event(const exs_event_t& event) noexcept {
  if (event.exs_evt_type == EXS_EVT_ACCEPT) {
    if (event.exs_evt_errno == 0) take_stream(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
    return;
  }
  if (take_guest(event.exs_evt_ahandle, event)) return;
  const auto word = reinterpret_cast<std::uintptr_t>(event.exs_evt_ahandle);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the handle has the event's kind in its lowest bits
  HostLink& link = *reinterpret_cast<HostLink*>(word & ~kOpBits);
  take_link_event(link, static_cast<Op>(word & kOpBits), event);
  look_and_tick(link);
}

bool look_at_ticking() noexcept {
  if (ticking > 0)
    for (HostLink& link : taken_links())
      if (link.pump.ticks) look_and_tick(link);
  if (has_guests()) look_at_guests();
  return ticking > 0 || has_guests();
}

// Runs at exit. libexs ends with the process and must not be in use then.
void stop() noexcept {
  constexpr int kPatienceMs = 2000;
  leave_program();
  stops.store(1);
  if (queue_handle.load() >= 0) loaded->exs_qpost(queue(), &stops, nullptr);
  for (int i = 0; i < kPatienceMs && !has_stopped.load() && life.load() == Life::kRuns; ++i) sleep_1ms();
}
void park_if_asked() noexcept {
  if (stops.load() == 0) return;
  has_stopped.store(true);
  for (;;) raw::sys(SYS_futex, &stops, FUTEX_WAIT_PRIVATE, 1, nullptr, nullptr, 0);
}

bool prepare(Fault& fault) noexcept {
  loaded = load_library();
  // Registered after the library's own handlers, so that it runs before them.
  atexit(stop);
  park_if_asked();
  if (loaded == nullptr) {
    fault = Fault::kNoLibrary;
    return false;
  }
  fault = Fault::kMemory;
  if (loaded->exs_init(EXS_VERSION1) != 0) return false;
  loaded->exs_setlog([](int, const char*, void*) {}, nullptr, EXS_LOG_OFF);
  const exs_qhandle_t made = loaded->exs_qcreate(kQueueDepth);
  if (made < 0) return false;
  const int wait = has_one_processor() ? EXS_WAIT_NOTIFY : EXS_WAIT_ADAPTIVE;
  loaded->exs_qmodify(made, EXS_QATTR_WAIT, &wait, sizeof wait);
  queue_handle.store(made);
  return true;
}

void* pump_all(void*) noexcept {
  Fault fault = Fault::kNone;
  if (!prepare(fault)) {
    life.store(Life::kFailed);
    for (HostLink& link : taken_links())
      if (link.state.load() != State::kFree) fail(link, fault);
    return nullptr;
  }
  // Looks at the links that were here before the queue.
  for (HostLink& link : taken_links())
    if (link.woken.exchange(false)) look_and_tick(link);
  bool ticks = look_at_ticking();
  for (;;) {
    constexpr int kEvents = 64;
    exs_event_t events[kEvents];
    const int count = loaded->exs_qwait(queue(), events, kEvents, 1, ticks ? kTickNs : -1);
    if (count < 0 && errno != EINTR) return nullptr;
    park_if_asked();
    for (int i = 0; i < count; ++i)
      if (events[i].exs_evt_ahandle != &stops) take_event(events[i]);
    ticks = look_at_ticking();
  }
}

// A signal handler may interrupt a post of its own thread, which then posts for both.
thread_local bool is_posting = false;
thread_local bool posts_again = false;

}  // namespace

HostLink* take_link() noexcept {
  for (std::size_t i = 0; i < kLinks; ++i) {
    State free = State::kFree;
    if (!links[i].state.compare_exchange_strong(free, State::kClaimed)) continue;
    std::size_t taken = links_taken.load();
    while (taken <= i && !links_taken.compare_exchange_weak(taken, i + 1)) {
    }
    return &links[i];
  }
  return nullptr;
}
std::span<HostLink> taken_links() noexcept {
  return {links, links_taken.load()};
}

const LoadedLibrary& library() noexcept {
  return *loaded;
}
exs_qhandle_t queue() noexcept {
  return queue_handle.load(std::memory_order_relaxed);
}
std::uint64_t now_ns() noexcept {
  return monotonic_ns();
}
void* handle_of(HostLink& link, Op op) noexcept {
  return reinterpret_cast<std::byte*>(&link) + static_cast<std::uintptr_t>(op);
}

bool start_pump(Fault& fault) noexcept {
  Life none = Life::kNone;
  if (!life.compare_exchange_strong(none, Life::kRuns)) {
    fault = Fault::kNoLibrary;
    return none == Life::kRuns;
  }
  static std::atomic<bool> is_registered{false};
  if (!is_registered.exchange(true)) atexit(stop);  // for an exit while the library is being loaded
  if (start_thread(pump_all)) return true;
  life.store(Life::kFailed);
  fault = Fault::kMemory;
  return false;
}

bool start_thread(void* (*body)(void*)) noexcept {
  const NoSignals held;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, body, nullptr) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

void post_wake(HostLink& link) noexcept {
  if (link.woken.exchange(true)) return;
  if (is_posting) {
    posts_again = true;
    return;
  }
  if (queue_handle.load() < 0) return;  // the pump looks at all links when it begins
  is_posting = true;
  if (loaded->exs_qpost(queue(), handle_of(link, Op::kWake), nullptr) != 0) link.woken.store(false);
  while (posts_again) {
    posts_again = false;
    for (HostLink& other : taken_links())
      if (other.woken.load()) loaded->exs_qpost(queue(), handle_of(other, Op::kWake), nullptr);
  }
  is_posting = false;
}

void forget_pump() noexcept {
  life.store(Life::kNone);
  queue_handle.store(EXS_QHANDLE_INVALID);
  stops.store(0);
  has_stopped.store(false);
  ticking = 0;
  is_posting = posts_again = false;
  for (HostLink& link : taken_links()) {
    if (link.state.load() == State::kFree) continue;
    close_descriptor(link);
    link.pump = {};
    link.segment = nullptr;
    link.woken.store(false);
    link.state.store(State::kFree);
  }
}

void tell(HostLink& link) noexcept {
  link.news.fetch_add(1);
  raw::sys(SYS_futex, &link.news, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace exs::sockets::between
