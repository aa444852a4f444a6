// Commands that other threads queue for the holder of a shard's drive lock.
#pragma once

#include <atomic>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/base/drive_lock.h"
#include "src/proto/operation.h"

namespace exs {

class Shard;

// The target of transfer commands: a session. Thread: shard.
class TransferClient : public std::enable_shared_from_this<TransferClient> {
 public:
  virtual ~TransferClient() = default;
  // Starts the operation and carries out what follows.
  virtual void carry_out(proto::Direction direction, const proto::Operation& operation) = 0;
};

// A command that is not a transfer. Thread: shard, once queued.
class Task {
 public:
  virtual ~Task() = default;
  virtual void run(Shard& shard) = 0;
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

// Thread: any pushes; the shard takes.
class CommandQueue {
 public:
  void push(Command command) {
    LockGuard guard(mutex_);
    commands_.push_back(std::move(command));
    waiting_.store(true, std::memory_order_seq_cst);
  }

  // Pairs with the store in push(): when a pusher finds the drive lock taken, the holder sees the command,
  // because it checks again after it has released the lock.
  [[nodiscard]] bool waiting() const { return waiting_.load(std::memory_order_seq_cst); }

  // Swaps with `into`, which is empty, so that neither side allocates once both vectors have grown.
  void take(std::vector<Command>& into) {
    LockGuard guard(mutex_);
    commands_.swap(into);
    waiting_.store(false, std::memory_order_seq_cst);
  }

 private:
  LeafLock mutex_;
  std::vector<Command> commands_ EXS_GUARDED_BY(mutex_);
  std::atomic<bool> waiting_{false};
};

}  // namespace exs
