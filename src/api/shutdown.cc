// What the last exs_fini ends. It stands upon the calls that close and free, which stand upon the library.
// SPDX-License-Identifier: BSD-2-Clause
#include <ctime>
#include <new>

#include "base/kernel.h"
#include "src/api/close.h"
#include "src/api/library.h"
#include "src/api/memory.h"
#include "src/log/log.h"

namespace exs {
namespace {

// A step of exs_fini, which cannot fail: while there is no memory for it, it is tried again for a second.
template <typename Step>
void insist(Step&& step) {
  constexpr int kTriesMax = 1000;
  constexpr timespec kPause{0, 1'000'000};
  for (int tries = 0; tries < kTriesMax; ++tries) {
    try {
      return step();
    } catch (const std::bad_alloc&) {
      kernel::nanosleep(&kPause, nullptr);
    }
  }
  log(LogLevel::kError, "exs_fini: without memory some of what is open stays so until the process ends");
}

}  // namespace

void Library::delete_queues_and_pools() {
  for (const int handle : queues.handles()) {
    if (const auto queue = queues.remove(handle)) {
      [[maybe_unused]] const Status forced = queue->close(true);
    }
  }
  for (const int handle : pools.handles()) {
    if (const auto pool = pools.remove(handle)) {
      [[maybe_unused]] const bool retired = pool->retire();
    }
  }
}

void Library::shut_down() {
  insist([this] { close_all(*this); });
  insist([this] { delete_queues_and_pools(); });
  insist([this] { free_all(*this); });
  std::vector<std::shared_ptr<Shard>> ended;
  std::vector<std::shared_ptr<Socket>> lost;
  {
    LockGuard guard(mutex_);
    ended.swap(shards_);
    lost.swap(lost_);
    stats_page_.reset();
  }
  for (const auto& shard : ended) shard->stop_engine();
}

}  // namespace exs
