// SPDX-License-Identifier: BSD-2-Clause
#include "base/read_section.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/check.h"
#include "base/drive_lock.h"
#include "base/kernel.h"
#include "base/lazy.h"

namespace exs {
namespace {

bool membarrier(int command) {
  return kernel::membarrier(command) == 0;
}

}  // namespace

constinit thread_local ReadSection::Reader* ReadSection::mine_ = nullptr;
std::atomic<bool> ReadSection::barriers_ours_{true};

// All threads that were ever in a section and live. Leaked: threads may still be in calls at the exit.
class ReaderList {
 public:
  using Reader = ReadSection::Reader;

  // `left`: the parent's list, in a child, where its mutex may be held for ever. Kept, as all that readers of
  // other threads may hang on.
  explicit ReaderList(const ReaderList* left) : left_(left) {}

  static ReaderList& current() {
    return list_.get([] { return std::make_unique<ReaderList>(nullptr); });
  }
  static void begin_anew() { list_.replace(std::make_unique<ReaderList>(list_.made())); }
  // Takes its thread off the list when that ends.
  struct Membership {
    ~Membership() {
      if (ReadSection::mine_ == nullptr) return;
      current().remove(*ReadSection::mine_);
      delete std::exchange(ReadSection::mine_, nullptr);
    }
    static void begin() {
      auto made = std::make_unique<Reader>();
      current().add(*made);
      ReadSection::mine_ = made.release();
    }
  };

  void add(Reader& reader) {
    LockGuard guard(mutex_);
    readers_.push_back(&reader);
  }
  void remove(Reader& reader) {
    LockGuard guard(mutex_);
    std::erase(readers_, &reader);
  }
  void wait_for_all(const Reader* mine) {
    EXS_CHECK(mine == nullptr || mine->turns.load(std::memory_order_relaxed) % 2 == 0);
    LockGuard guard(mutex_);
    for (const Reader* reader : readers_) {
      const std::uint64_t turn = reader->turns.load(std::memory_order_seq_cst);
      if (turn % 2 == 0) continue;
      Backoff backoff;
      while (reader->turns.load(std::memory_order_acquire) == turn) backoff.wait();
    }
  }

 private:
  static constinit Lazy<ReaderList> list_;

  [[maybe_unused]] const ReaderList* const left_;
  Mutex mutex_;
  std::vector<Reader*> readers_ EXS_GUARDED_BY(mutex_);
};

constinit Lazy<ReaderList> ReaderList::list_;

// A destructor that runs at the end of its thread, later than that of the membership, gets a reader that
// stays.
ReadSection::Reader& ReadSection::enroll() {
  thread_local ReaderList::Membership membership;
  ReaderList::Membership::begin();
  return *mine_;  // NOLINT(clang-analyzer-cplusplus.NewDelete): the membership ends with the thread
}

void ReadSection::prepare() {
  if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
    barriers_ours_.store(false, std::memory_order_relaxed);
}

void ReadSection::forget_other_threads() {
  ReaderList::begin_anew();
  if (mine_ != nullptr) ReaderList::current().add(*mine_);
}

// A filter that came after prepare() may refuse: then each section has its barrier from now on, and those
// that began without one become visible within moments.
void ReadSection::make_visible() {
  if (barriers_ours_.load(std::memory_order_relaxed) || membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  barriers_ours_.store(true, std::memory_order_seq_cst);
  constexpr long kMomentNs = 10'000'000;
  const timespec moment{0, kMomentNs};
  kernel::nanosleep(&moment, nullptr);
}

void wait_for_readers() {
  ReadSection::make_visible();
  ReaderList::current().wait_for_all(ReadSection::mine_);
}

}  // namespace exs
