// A reliable connected queue pair: work requests out, completions in. Knows nothing of how the
// connection came to be.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/fifo.h"
#include "src/provider/provider.h"
#include "src/provider/verbs/buffers.h"
#include "src/provider/verbs/queues.h"

namespace exs::verbs {

// Thread: shard.
class QueuePairClient {
 public:
  virtual ~QueuePairClient() = default;
  // Valid during the call.
  virtual void message_arrived(std::span<const std::byte> message) = 0;
  virtual void transfer_done(CompletionKind kind, std::uint64_t token) = 0;
  // The queue pair is in error. `why`: ok if it was only flushed, because its owner had announced the end.
  virtual void queue_pair_failed(Status why) = 0;
};

// Design notes
//  1. A message is copied as it is posted, so it has left as far as its memory is concerned; the queue pair
//     must live until it has left for good (`is_idle`).
//  2. What finds the send queue full waits in `waiting_`, and all that is posted later behind it.
//  3. Completions name their work request and come in any order: siw's messages overtake its READs.
//  4. Destroying it is what ends all access of the device to memory. What was not completed by then is
//     reported by nobody but `take_unfinished`.
// Thread: shard.
class QueuePair {
 public:
  // On the id's device, whose queues these are; the id outlives it.
  static Result<std::unique_ptr<QueuePair>> make(Queues& queues, rdma_cm_id& id, const LinkDepths& depths,
                                                 QueuePairClient& client);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  Status send(std::span<const std::byte> header, std::span<const std::byte> payload);
  // EINVAL: memory that is not registered here.
  Status read(LocalSlice into, RemoteSlice from, std::uint64_t token);
  Status write(LocalSlice from, RemoteSlice to, std::uint64_t token);
  // Writes no bytes, which shows a peer that something arrived.
  Status nudge();

  // The client gets no more notifications. The port waits until the queue pair is idle.
  void forget_client() noexcept;
  [[nodiscard]] bool has_failed() const noexcept { return failed_; }
  [[nodiscard]] bool is_idle() const noexcept { return posted_.empty() && waiting_.empty(); }
  // Messages that have not left, and no transfer.
  [[nodiscard]] bool has_messages_only() const noexcept { return transfers_ == 0; }
  // The oldest transfer that is not done; for when the queue pair has failed, or is to go.
  struct Unfinished {
    CompletionKind kind = CompletionKind::kRead;
    std::uint64_t token = 0;
  };
  bool take_unfinished(Unfinished& into);
  // Ends all access of the device, and takes in what has completed.
  void destroy() noexcept;
  // A peer whose message finds no receive tries again soon. After the connection is set up.
  void retry_soon() noexcept;
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }

  // --- Queues ---
  void message_arrived(const ibv_wc& completion);
  void post_completed(const ibv_wc& completion);

 private:
  enum class Kind : std::uint8_t { kMessage, kRead, kWrite, kNudge };
  struct Post {
    Kind kind = Kind::kMessage;
    std::uint64_t token = 0;
    BufferNumber buffer = kNoBuffer;
    Buffers* buffers = nullptr;  // where it goes back to
    MemoryRegion sink;           // a READ's, on iWARP
    bool done = false;           // and waits for those before it
  };
  // A work request that has not been posted.
  struct Work {
    Post post;
    ibv_sge entry{};
    RemoteSlice remote;
  };

  QueuePair(Queues& queues, rdma_cm_id& id, QueuePairClient& client, const LinkDepths& depths);
  Status create(const LinkDepths& depths);
  Status post_own_receives();
  Status post_receive(BufferNumber buffer) noexcept;
  Status send_inline(std::span<const std::byte> header, std::span<const std::byte> payload);
  Status queue(Work work);
  Status post(Work& work);
  Status post_on(ibv_send_wr& request, Post done);
  // Reserves memory for the next queue().
  void make_room();
  void post_waiting();
  void give_back(Post& done) noexcept;
  Post pop_posted();
  void fail(ibv_wc_status status);

  Queues& queues_;
  rdma_cm_id& id_;
  QueuePairClient* client_;
  Lane* lane_ = nullptr;
  Queues::Share share_;
  bool shares_receives_ = false;
  Buffers own_receives_;
  std::uint32_t number_ = 0;
  std::uint32_t depth_ = 0;
  std::size_t inline_max_ = 0;
  std::uint32_t transfers_ = 0;
  bool created_ = false;
  bool failed_ = false;
  Fifo<Post> posted_;
  std::uint64_t first_id_ = 0;  // of the work requests in posted_; the others follow
  Fifo<Work> waiting_;
};

}  // namespace exs::verbs
