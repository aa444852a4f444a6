// The common objects of one port's queue pairs on one device: completion queues, buffers, and a shared
// receive queue.
//
// Design notes
//  1. Messages complete on queues of their own, apart from our work requests: a thread that sleeps for
//     messages is not woken because one that it sent has left. What we sent completes on queues that ring
//     only while somebody waits for a READ or WRITE, or for room.
//  2. Completion queues must never overflow, so each has room for all that may ever complete on it; when
//     there is none for one more queue pair, another pair of queues is made (a "lane").
//  3. A shared receive queue is used where a sender that finds it empty is held up (InfiniBand, RoCE), so
//     idle connections cost no buffers. On iWARP an empty one ends the connection, whoever emptied it: there
//     each queue pair has as many receives of its own as its peer has credits.
//  4. A queue pair is gone when it has been destroyed and both its completion queues have been emptied: then
//     its number may come back.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "src/provider/poller.h"
#include "src/provider/verbs/buffers.h"
#include "src/provider/verbs/device.h"

namespace exs::verbs {

class QueuePair;

struct SrqCloser {
  void operator()(ibv_srq* queue) const noexcept { ::ibv_destroy_srq(queue); }
};
struct CompChannelCloser {
  void operator()(ibv_comp_channel* channel) const noexcept { ::ibv_destroy_comp_channel(channel); }
};

// One completion queue; the flag shows whether it will ring.
struct RingingQueue {
  OwnedCq queue;
  std::uint32_t capacity = 0;
  std::uint32_t reserved = 0;
  bool armed = false;
};

// Two completion queues for as many queue pairs as they have room for.
struct Lane {
  RingingQueue messages, posts;
};

// Thread: shard.
class Queues final : public Pollable {
 public:
  // `arrivals` goes up with whatever a peer did.
  static Result<std::unique_ptr<Queues>> open(Poller& poller, Device& device, std::uint64_t& arrivals);
  ~Queues() override;
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;

  [[nodiscard]] Device& device() noexcept { return device_; }

  // Takes what has completed. False: nothing had.
  bool poll();
  // Call it before a sleep. False: something has completed. Posts may go on until disarm(), also while a
  // thread sleeps.
  bool arm();
  void disarm() noexcept { somebody_sleeps_ = false; }
  // Takes one event of the completion channel. False: there was none.
  bool hear();
  // All of them.
  void ready(std::uint32_t events) override;

  // --- for queue pairs ---
  struct Share {
    std::uint32_t posts = 0, receives = 0;
  };
  Result<Lane*> reserve(const Share& share);
  void release(Lane& lane, const Share& share) noexcept;
  void add(std::uint32_t number, QueuePair& queue_pair) { queue_pairs_[number] = &queue_pair; }
  // The queue pair has been destroyed: nothing of it is left in the queues after this.
  void remove(std::uint32_t number) noexcept;
  [[nodiscard]] QueuePair* find(std::uint32_t number) noexcept;
  // Null: messages of this length have none on this device.
  [[nodiscard]] ibv_srq* shared_receives(std::size_t message_bytes) noexcept;
  void user_joins() { ++sharers_; }
  void user_leaves() { --sharers_; }
  // Sees to it that there is a buffer for each of the receives that the users of the shared queue may need.
  Status provide_receives();
  [[nodiscard]] Buffers& receive_buffers() noexcept { return receives_; }
  void repost(BufferNumber buffer) noexcept;
  // To send `message_bytes` from.
  [[nodiscard]] Buffers& send_buffers(std::size_t message_bytes) noexcept {
    return message_bytes <= small_sends_.buffer_bytes() ? small_sends_ : large_sends_;
  }
  // Work requests that have not completed. A sleeping thread checks them from time to time, because a request
  // that cannot complete shows the peer's silence.
  void post_begins() noexcept { ++posts_; }
  void post_ends() noexcept { --posts_; }
  [[nodiscard]] bool needs_recheck() const noexcept { return posts_ > 0 && waiting_ == 0; }
  // A thread waits for the completion of one of our work requests.
  void begin_waiting() noexcept;
  void end_waiting() noexcept { --waiting_; }

 private:
  Queues(Poller& poller, Device& device, std::uint64_t& arrivals);
  Status make_shared_receives();
  Status make_queue(RingingQueue& into, std::uint32_t capacity);
  bool take(RingingQueue& queue, bool messages);
  bool arm(RingingQueue& queue);

  Poller& poller_;
  Device& device_;
  std::uint64_t& arrivals_;
  Buffers receives_, small_sends_, large_sends_;
  std::unique_ptr<ibv_comp_channel, CompChannelCloser> channel_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<ibv_srq, SrqCloser> shared_receives_;
  std::uint32_t shared_max_ = 0;
  std::uint32_t sharers_ = 0;
  std::uint32_t waiting_ = 0;
  bool somebody_sleeps_ = false;
  std::uint32_t armed_ = 0;  // queues that will ring, or whose ring was not taken
  std::uint32_t posts_ = 0;
  std::unordered_map<std::uint32_t, QueuePair*> queue_pairs_;
};

}  // namespace exs::verbs
