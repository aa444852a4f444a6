// The deaths that PMIx reports, by a thread of its own, until the boot asks for them.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pmix.h>

#include <atomic>
#include <string>
#include <vector>

#include "base/drive_lock.h"
#include "base/unique_fd.h"
#include "src/boot/pmix_library.h"

namespace exs::boot {

class PmixDeaths {
 public:
  // The process's only one. It is never destroyed: PMIx may call it for a while after its deregistration.
  static PmixDeaths& of_process();

  // False: there will be no reports.
  bool start(const PmixLibrary& library, const pmix_proc_t& self);
  void stop(const PmixLibrary& library);

  [[nodiscard]] int descriptor() const noexcept { return ring_.get(); }
  std::vector<int> take();

 private:
  static void hear(size_t registration, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                   size_t info_count, pmix_info_t* results, size_t result_count,
                   pmix_event_notification_cbfunc_fn_t done, void* done_with);
  static void registered(pmix_status_t status, size_t registration, void* self);
  void add(const pmix_proc_t& who);

  std::string job_;  // its name
  UniqueFd ring_;
  std::atomic<int> registered_{0};  // 1: yes, -1: it was refused
  std::size_t registration_ = 0;

  Mutex mutex_;
  std::vector<int> ranks_ EXS_GUARDED_BY(mutex_);
};

}  // namespace exs::boot
