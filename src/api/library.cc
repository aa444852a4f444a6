// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/library.h"

#include <pthread.h>

#include <cstdlib>

#include "base/environment.h"
#include "base/read_section.h"
#include "src/api/counters.h"
#include "src/api/environment.h"
#include "src/api/refusals.h"
#include "src/api/simulation.h"
#include "src/log/log.h"
#include "src/provider/own_sockets.h"
#include "src/provider/registry.h"

namespace exs {
namespace {

// Never destroyed, as there is nothing to do: threads may still be in a call when the process exits.
struct Process {
  Mutex mutex;
  Library* library EXS_GUARDED_BY(mutex) = nullptr;
  int users EXS_GUARDED_BY(mutex) = 0;
  std::atomic<Library*> current{nullptr};  // library while users > 0
  Library* inherited = nullptr;            // the parent's, in a child
};

constinit Process the_process;

Process& process() {
  return the_process;
}

// The child keeps nothing of the parent's library: its threads are gone and its locks may be held for ever.
void leave_library_to_parent() EXS_NO_THREAD_SAFETY_ANALYSIS {
  if (process().library != nullptr) {
    process().library->leave_to_parent();
    process().inherited = process().library;
  }
  process().library = nullptr;
  process().users = 0;
  process().current = nullptr;
  ThreadRecord::forget_other_threads();
  unlock_log();
  OwnSockets::unlock();
  unlock_providers(ForkSide::kChild);
  process().mutex.unlock();
}

void lock_process() EXS_NO_THREAD_SAFETY_ANALYSIS {
  process().mutex.lock();
  lock_providers();
  OwnSockets::lock();
  lock_log();
}
void unlock_process() EXS_NO_THREAD_SAFETY_ANALYSIS {
  unlock_log();
  OwnSockets::unlock();
  unlock_providers(ForkSide::kParent);
  process().mutex.unlock();
}

// Registered when the library is loaded: one thread may run the first exs_init while another one forks.
const int at_fork = ::pthread_atfork(lock_process, unlock_process, leave_library_to_parent);

}  // namespace

Library* Library::current() {
  return process().current.load(std::memory_order_acquire);
}

Status Library::begin(int version) {
  if (version != EXS_VERSION1) {
    return fault(LogLevel::kError, ENOTSUP, "interface version {} is unknown; this library knows {}", version,
                 EXS_VERSION1);
  }
  if (at_fork != 0) return Status(at_fork);
  Process& self = process();
  LockGuard guard(self.mutex);
  if (self.users == 0) {
    if (self.library == nullptr) self.library = new Library(self.inherited);
    if (const Status status = self.library->prepare(); !status.ok()) return status;
    self.current.store(self.library, std::memory_order_release);
  }
  ++self.users;
  return Status();
}

Status Library::end() {
  Process& self = process();
  LockGuard guard(self.mutex);
  if (self.users == 0) return not_initialized();
  if (--self.users > 0) return Status();
  self.current.store(nullptr, std::memory_order_release);
  self.library->shut_down();
  report_simulation();
  tell_left_out();
  return Status();
}

Status Library::prepare() {
  if (const Status status = check_environment(); !status.ok()) return status;
  tell_unknown_settings();
  const char* const provider = unless_empty(std::getenv("EXS_PROVIDER"));
  auto chosen = choose_providers(provider == nullptr ? "auto" : provider);
  if (!chosen) return chosen.error();
  provider_wish_ = std::move(*chosen);
  if (const auto choice = choice_of(provider_wish_); !choice) return choice.error();
  ProcessBarrier::prepare();
  LockGuard guard(mutex_);
  shards_max_ = simulates_time() ? 1 : wished_shards();  // a thread that waits drives one
  next_shard_ = 0;
  totals_ = {};
  return Status();
}

Result<std::shared_ptr<Shard>> Library::next_shard() {
  LockGuard guard(mutex_);
  const std::size_t index = next_shard_ % shards_max_;
  if (index >= shards_.size()) {
    if (!stats_page_)
      stats_page_ = StatsPage::create(switch_from_environment("EXS_STATS", true), EXS_VERSION_TEXT);
    auto made = Shard::create(providers(), time_of_process(), stats_page_);
    if (!made) return failure(made.error());
    shards_.push_back(std::move(*made));
  }
  ++next_shard_;
  return shards_[index];
}

void Library::remember_allocation(void* address, exs_mhandle_t handle) {
  LockGuard guard(mutex_);
  allocations_[address] = handle;
}

exs_mhandle_t Library::allocation_at(void* address) {
  LockGuard guard(mutex_);
  const auto found = allocations_.find(address);
  return found == allocations_.end() ? EXS_MHANDLE_INVALID : found->second;
}

void Library::forget_allocation(void* address) {
  LockGuard guard(mutex_);
  allocations_.erase(address);
}

void Library::keep_lost(std::shared_ptr<Region> region) {
  LockGuard guard(mutex_);
  lost_regions_.push_back(std::move(region));
}

void Library::keep_lost(std::shared_ptr<Socket> socket) {
  LockGuard guard(mutex_);
  lost_.push_back(std::move(socket));
}

void Library::add_to_totals(const exs_stats_t& stats) {
  LockGuard guard(mutex_);
  add_stats(totals_, stats);
}

exs_stats_t Library::totals() {
  LockGuard guard(mutex_);
  return totals_;
}

}  // namespace exs
