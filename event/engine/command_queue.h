// Commands that other threads queue for the holder of a shard's drive lock.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/drive_lock.h"
#include "src/proto/operation.h"

namespace exs {

class Shard;

// The work of the shard after a step.
enum class FollowUp : std::uint8_t {
  kNothing,    // the operation waits for the peer
  kAtLeisure,  // what it posted leaves with other posts of the burst
  kAtOnce,
};

// The target of transfer commands: a session. Thread: shard.
class TransferClient : public std::enable_shared_from_this<TransferClient> {
 public:
  virtual ~TransferClient() = default;
  // Starts the operation and carries out what follows.
  virtual FollowUp carry_out(proto::Direction direction, const proto::Operation& operation) = 0;
};

// A command that is not a transfer. Thread: shard, once queued.
class Task {
 public:
  virtual ~Task() = default;
  virtual void run(Shard& shard) = 0;

 private:
  friend class TaskChain;
  std::unique_ptr<Task> next_;
};

// Tasks, linked by themselves, so that none needs memory to join.
class TaskChain {
 public:
  TaskChain() = default;
  TaskChain(const TaskChain&) = delete;
  TaskChain& operator=(const TaskChain&) = delete;
  ~TaskChain() {
    while (pop_front()) continue;
  }

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  void push_back(std::unique_ptr<Task> task) noexcept {
    std::unique_ptr<Task>& end = last_ == nullptr ? first_ : last_->next_;
    end = std::move(task);
    last_ = end.get();
  }
  // Null: there is none.
  std::unique_ptr<Task> pop_front() noexcept {
    auto task = std::exchange(first_, nullptr);
    if (task) first_ = std::move(task->next_);
    if (!first_) last_ = nullptr;
    return task;
  }
  void swap(TaskChain& other) noexcept {
    first_.swap(other.first_);
    std::swap(last_, other.last_);
  }

 private:
  std::unique_ptr<Task> first_;
  Task* last_ = nullptr;
};

// A task that calls `body`, as body(shard) or body(). The captures of `body` are destroyed with the task,
// whether it has run or not.
template <typename Body>
[[nodiscard]] std::unique_ptr<Task> make_task(Body&& body) {
  using Stored = std::decay_t<Body>;
  class Call final : public Task {
   public:
    explicit Call(Body&& given) : body_(std::forward<Body>(given)) {}
    void run(Shard& shard) override {
      if constexpr (std::is_invocable_v<Stored&, Shard&>) {
        body_(shard);
      } else {
        body_();
      }
    }

   private:
    Stored body_;
  };
  return std::make_unique<Call>(std::forward<Body>(body));
}

// A transfer (`client` is set; the frequent case, without allocation) or a task.
struct Command {
  std::shared_ptr<TransferClient> client;
  proto::Direction direction = proto::Direction::kSend;
  proto::Operation operation;
  std::unique_ptr<Task> task;
};

// The shard's next batch: the commands, then the tasks that came while there was no memory for a command.
struct CommandBatch {
  std::vector<Command> commands;
  TaskChain late_tasks;
};

// Thread: any pushes; the shard takes.
class CommandQueue {
 public:
  // A task is always taken. std::bad_alloc: a transfer is not, and nothing has changed.
  void push(Command command) {
    LockGuard guard(mutex_);
    if (!push_in_order(command)) {
      if (command.task == nullptr) throw std::bad_alloc();
      queued_.late_tasks.push_back(std::move(command.task));
    }
    waiting_.store(true, std::memory_order_seq_cst);
  }

  // Pairs with the store in push(): when a pusher finds the drive lock taken, the holder sees the command,
  // because it checks again after it has released the lock.
  [[nodiscard]] bool waiting() const { return waiting_.load(std::memory_order_seq_cst); }

  // Swaps with `into`, which is empty, so that neither side allocates once both vectors have grown.
  void take_all(CommandBatch& into) {
    LockGuard guard(mutex_);
    queued_.commands.swap(into.commands);
    queued_.late_tasks.swap(into.late_tasks);
    waiting_.store(false, std::memory_order_seq_cst);
  }

 private:
  // False: there is no memory for it, or others wait behind which it belongs.
  [[nodiscard]] bool push_in_order(Command& command) EXS_REQUIRES(mutex_) {
    if (!queued_.late_tasks.empty()) return false;
    try {
      queued_.commands.push_back(std::move(command));
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  LeafLock mutex_;
  CommandBatch queued_ EXS_GUARDED_BY(mutex_);
  std::atomic<bool> waiting_{false};
};

}  // namespace exs
