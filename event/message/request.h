// A send or receive of a tagged message, from its post until its completion has been reported.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "event/queue/attachment.h"
#include "exs/msg.h"
#include "src/match/list.h"
#include "src/proto/operation.h"

namespace exs {

class Nap;

// The recipient of a request's completion.
struct Listener {
  bool is_poll = false;  // Endpoint::poll(); else the thread that waits for the request
  void* user = nullptr;  // reported by poll()
};

struct Request {
  enum class Kind : std::uint8_t { kNone, kSend, kReceive };
  enum class State : std::uint32_t { kFree, kOpen, kEnded };

  // Written under the drive lock; kEnded is read without it, and then the status is there.
  std::atomic<State> state{State::kFree};
  std::uint32_t number = 0;
  std::atomic<std::uint32_t> generation{0};
  Kind kind = Kind::kNone;
  bool nobody_waits = false;  // exm_free(): ends alone
  Listener listener;
  Request* next_ended = nullptr;         // next in the list for poll()
  std::uint32_t waiting = match::kNone;  // receives: their number among those that wait
  std::uint32_t peer = 0;                // sends: destination; receives: source, or kAnySource
  Nap* nap = nullptr;                    // of the thread that sleeps until it ends
  proto::Operation operation;            // each use sets its memory, vector and label
  proto::Label label;                    // receives: of the message that has come
  std::vector<LocalSlice> pieces;
  std::unique_ptr<std::byte[]> copy;  // sends: of memory that was lent
  Attachment::Owner attachment;       // receives: memory that is registered while it is read into
  exm_status_t status{};
  std::uint32_t next_returned = 0;  // of RequestPool

  // The completion was reported, or needs no report. Only one thread may do this.
  void set_free() noexcept {
    generation.store(generation.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    state.store(State::kFree, std::memory_order_relaxed);
  }
  [[nodiscard]] exm_request_t handle() const noexcept {
    return exm_request_t{generation.load(std::memory_order_relaxed)} << 32U | (number + 1);
  }
};

// Requests that are given back together, as each step that other threads see costs as much as a look-up.
class RequestChain {
 public:
  void add(Request& request) noexcept {
    request.set_free();
    request.next_returned = first_ == nullptr ? 0 : first_->number + 1;
    first_ = &request;
    if (last_ == nullptr) last_ = &request;
  }

 private:
  friend class RequestPool;
  Request* first_ = nullptr;
  Request* last_ = nullptr;
};

// All requests of an endpoint, at places that do not move. Taken under the drive lock, found and given back by any thread.
class RequestPool {
 public:
  RequestPool() = default;
  RequestPool(const RequestPool&) = delete;
  RequestPool& operator=(const RequestPool&) = delete;
  ~RequestPool();

  // Open, with a generation of its own. Throws std::bad_alloc. Thread: shard.
  Request& take_request();
  // Gives back a request that ended and was reported, or that needs no report.
  void give_back(Request& request) noexcept {
    RequestChain chain;
    chain.add(request);
    give_back(chain);
  }
  void give_back(const RequestChain& chain) noexcept;
  // Frees it without a step that other threads see. Thread: shard.
  void free(Request& request) noexcept;
  // Null: the handle is invalid, or was given back.
  [[nodiscard]] Request* find(exm_request_t handle) noexcept;
  // Visits the requests in that state. Thread: shard.
  template <typename Visit>
  void visit(Request::State state, Visit&& visit) {
    const std::uint32_t count = count_.load(std::memory_order_relaxed);
    for (std::uint32_t number = 0; number < count; ++number) {
      Request& request = at(number);
      if (request.state.load(std::memory_order_acquire) == state) visit(request);
    }
  }

 private:
  static constexpr std::uint32_t kChunk = 64;
  static constexpr std::uint32_t kChunksMax = 1U << 16U;

  [[nodiscard]] Request& at(std::uint32_t number) noexcept {
    return chunks_[number / kChunk].load(std::memory_order_acquire)[number % kChunk];
  }
  void grow();

  const std::unique_ptr<std::atomic<Request*>[]> chunks_ =
      std::make_unique<std::atomic<Request*>[]>(kChunksMax);
  std::atomic<std::uint32_t> count_{0};
  std::vector<Request*> free_;              // thread: shard
  std::atomic<std::uint32_t> returned_{0};  // a list of those that were given back, by number and one
};

}  // namespace exs
