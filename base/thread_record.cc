// SPDX-License-Identifier: BSD-2-Clause
#include "base/thread_record.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/lazy.h"
#include "base/locks.h"
#include "base/room.h"

namespace exs {

constinit thread_local ThreadRecord* ThreadRecord::mine_ = nullptr;

// Never destroyed: threads may still be in calls at the exit.
class ThreadList {
 public:
  // `left`: the parent's list, in a child, where its mutex may be held for ever. Kept, with the records of threads that are the
  // parent's.
  explicit ThreadList(const ThreadList* left) : left_(left) {}

  static ThreadList& current() {
    return list_.get([] { return std::make_unique<ThreadList>(nullptr); });
  }
  static void begin_anew() { list_.replace(std::make_unique<ThreadList>(list_.made())); }
  // Takes its thread off the list when that ends.
  struct Membership {
    ~Membership() {
      if (ThreadRecord::mine_ != nullptr) current().remove(*std::exchange(ThreadRecord::mine_, nullptr));
    }
    static void begin() { ThreadRecord::mine_ = &current().add(); }
  };

  ThreadRecord& add() {
    LockGuard guard(mutex_);
    make_room(living_, living_.size() + 1);
    make_room(unused_, living_.size() + 1 + unused_.size());  // so that remove() needs none
    ThreadRecord* record = nullptr;
    if (unused_.empty()) {
      record = new ThreadRecord;
    } else {
      record = unused_.back();
      unused_.pop_back();
    }
    living_.push_back(record);
    return *record;
  }
  void add(ThreadRecord& record) {
    LockGuard guard(mutex_);
    living_.push_back(&record);
    make_room(unused_, living_.size() + unused_.size());
  }
  void remove(ThreadRecord& record) {
    LockGuard guard(mutex_);
    std::erase(living_, &record);
    unused_.push_back(&record);
  }
  template <typename Visit>
  void for_each(const Visit& visit) {
    LockGuard guard(mutex_);
    for (const ThreadRecord* record : living_) visit(*record);
  }

 private:
  static constinit Lazy<ThreadList> list_;

  [[maybe_unused]] const ThreadList* const left_;
  Mutex mutex_;
  std::vector<ThreadRecord*> living_ EXS_GUARDED_BY(mutex_);
  std::vector<ThreadRecord*> unused_ EXS_GUARDED_BY(mutex_);
};

constinit Lazy<ThreadList> ThreadList::list_;

// A destructor that runs at the end of its thread, later than that of the membership, gets a record that stays.
ThreadRecord& ThreadRecord::enroll() {
  thread_local ThreadList::Membership membership;
  ThreadList::Membership::begin();
  return *mine_;
}

void ThreadRecord::each(void (*call)(const ThreadRecord&, const void*), const void* body) {
  ThreadList::current().for_each([&](const ThreadRecord& record) { call(record, body); });
}

void ThreadRecord::forget_other_threads() {
  ThreadList::begin_anew();
  if (mine_ != nullptr) ThreadList::current().add(*mine_);
}

}  // namespace exs
