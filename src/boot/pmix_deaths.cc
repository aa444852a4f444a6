// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_WITHOUT_PMIX
#include "src/boot/pmix_deaths.h"

#include <sys/eventfd.h>

#include <array>
#include <cstdint>
#include <utility>

#include "base/kernel.h"
#include "base/lazy.h"

namespace exs::boot {
namespace {

constinit Lazy<PmixDeaths> deaths_of_process;

// The events by which servers report an unexpected end of a process. Open MPI 4.1 reports none: it ends the
// job or, with --enable-recovery, leaves it to the connections.
constexpr std::array<pmix_status_t, 5> kEvents = {
    PMIX_ERR_PROC_ABORTED,       PMIX_ERR_PROC_ABORTED_BY_SIG, PMIX_ERR_PROC_TERM_WO_SYNC,
    PMIX_ERR_PROC_KILLED_BY_CMD, PMIX_ERR_EXIT_NONZERO_TERM,
};

// The server may report in the name of the process that noticed it.
const pmix_proc_t* who_ended(const pmix_proc_t* source, const pmix_info_t info[], std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC) && info[i].value.type == PMIX_PROC)
      return info[i].value.data.proc;
  }
  return source;
}

}  // namespace

PmixDeaths& PmixDeaths::of_process() {
  return deaths_of_process.get();
}

bool PmixDeaths::start(const PmixLibrary& library, const pmix_proc_t& self) {
  job_ = self.nspace;
  ring_ = UniqueFd(kernel::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ring_.valid()) return false;
  auto events = kEvents;
  library.watch(events.data(), events.size(), nullptr, 0, hear, registered, this);
  registered_.wait(0);
  if (registered_ < 0) ring_.reset();
  return registered_ > 0;
}

void PmixDeaths::stop(const PmixLibrary& library) {
  if (registered_.exchange(-1) > 0) library.unwatch(registration_, nullptr, nullptr);
}

std::vector<int> PmixDeaths::take() {
  std::uint64_t rung = 0;
  if (ring_.valid()) static_cast<void>(kernel::read(ring_.get(), &rung, sizeof rung));
  const LockGuard guard(mutex_);
  return std::exchange(ranks_, {});
}

void PmixDeaths::hear(size_t /*registration*/, pmix_status_t /*status*/, const pmix_proc_t* source,
                      pmix_info_t info[], size_t info_count, pmix_info_t* /*results*/,
                      size_t /*result_count*/, pmix_event_notification_cbfunc_fn_t done, void* done_with) {
  if (const pmix_proc_t* const who = who_ended(source, info, info_count); who != nullptr)
    of_process().add(*who);
  if (done != nullptr) done(PMIX_EVENT_NO_ACTION_TAKEN, nullptr, 0, nullptr, nullptr, done_with);
}

void PmixDeaths::registered(pmix_status_t status, size_t registration, void* self) {
  auto& deaths = *static_cast<PmixDeaths*>(self);
  deaths.registration_ = registration;
  deaths.registered_ = status == PMIX_SUCCESS ? 1 : -1;
  deaths.registered_.notify_one();
}

void PmixDeaths::add(const pmix_proc_t& who) {
  if (job_ != who.nspace || who.rank > INT32_MAX) return;
  {
    const LockGuard guard(mutex_);
    ranks_.push_back(static_cast<int>(who.rank));
  }
  const std::uint64_t one = 1;
  static_cast<void>(kernel::write(ring_.get(), &one, sizeof one));
}

}  // namespace exs::boot
#endif
