// An endpoint (FI_EP_RDM): one endpoint of exs (exm_open), with the queues, counters and addresses that are bound to it.
//
// Design notes
//  1. Each transfer has a TransferRecord from its post until its completion is reported. exm_tpoll finds completions (reap()), and the
//     thread that called it reports them to queues and counters.
//  2. The order of locks is: a Reaper's or an address vector's, the endpoint's, a queue's. Calls of exs hold the endpoint's lock, so a
//     transfer that completes at once is not reported before its post is complete.
//  3. A completion is never lost for want of memory: its record then waits in unreported_ for the next reap().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <rdma/fi_endpoint.h>

#include "base/drive_lock.h"
#include "base/status.h"
#include "exs/msg.h"
#include "fabric/address_vector.h"
#include "fabric/completion_queue.h"
#include "fabric/counter.h"
#include "fabric/fid.h"
#include "fabric/offer.h"
#include "fabric/record.h"

namespace exs::fabric {

struct TransferCall {
  const iovec* pieces = nullptr;
  std::size_t count = 0;
  fi_addr_t peer = FI_ADDR_UNSPEC;
  std::uint64_t match = 0;
  std::uint64_t ignore = 0;  // receives
  std::uint64_t data = 0;    // sends
  std::uint64_t flags = 0;
  std::uint64_t kind = 0;  // FI_MSG or FI_TAGGED
  void* context = nullptr;
  bool is_silent = false;  // fi_inject and the like: only counters count it
};

// Thread: any.
class Endpoint final : public Object<Endpoint, fid_ep> {
 public:
  Endpoint(const fi_info& info, void* context);
  ~Endpoint();

  Status bind(fid& other, std::uint64_t flags);
  // After an error the endpoint is as it was before.
  Status enable();
  // Nothing is reported any more.
  void close() noexcept;

  Status name(void* into, std::size_t* length);
  Status send(const TransferCall& transfer);
  Status receive(const TransferCall& transfer);
  // Handles FI_PEEK, FI_CLAIM and FI_DISCARD.
  Status probe(const TransferCall& transfer);
  Status cancel(void* context);

  [[nodiscard]] std::uint64_t send_flags() const noexcept { return send_flags_; }
  [[nodiscard]] std::uint64_t receive_flags() const noexcept { return receive_flags_; }
  void set_send_flags(std::uint64_t flags) noexcept { send_flags_ = flags; }
  void set_receive_flags(std::uint64_t flags) noexcept { receive_flags_ = flags; }
  // FI_OPT_MIN_MULTI_RECV, for receives that are posted from now on.
  [[nodiscard]] std::size_t multi_receive_min() const noexcept { return multi_receive_min_; }
  void set_multi_receive_min(std::size_t bytes) noexcept { multi_receive_min_ = bytes; }

  // Called by an address vector. EINVAL: the name is invalid.
  Status learn(fi_addr_t address, const Name& name);
  void forget(fi_addr_t address) noexcept;

  // Called by a Reaper.
  void reap() noexcept;
  [[nodiscard]] bool arm() noexcept;
  [[nodiscard]] int descriptor() noexcept { return exm_tfd(ep_); }

 private:
  // The queue and counter of one direction.
  struct CompletionTarget {
    CompletionQueue* queue = nullptr;
    Counter* counter = nullptr;
    bool is_selective = false;

    [[nodiscard]] bool reports(std::uint64_t flags) const noexcept {
      return queue != nullptr && (!is_selective || (flags & FI_COMPLETION) != 0);
    }
  };

  Status bind_queue(CompletionQueue& queue, std::uint64_t flags);
  Status bind_counter(Counter& counter, std::uint64_t flags);
  template <typename Use>
  void each_reaper(Use&& use);
  [[nodiscard]] bool has_enough_bound() const noexcept;
  Status open();
  Status join_bound();
  void leave_bound() noexcept;

  // Returns EXM_ANY_SOURCE for any peer, and less if the address is unknown.
  [[nodiscard]] int peer_of(fi_addr_t address) const noexcept EXS_REQUIRES(lock_);
  [[nodiscard]] int source_of(const TransferCall& transfer) const noexcept EXS_REQUIRES(lock_);
  [[nodiscard]] fi_addr_t address_of(int peer) const noexcept EXS_REQUIRES(lock_);

  Status peek(const TransferCall& transfer) EXS_REQUIRES(lock_);
  Status claim_found(const TransferCall& transfer, int source, const TransferState& state,
                     const exm_completion_t& found) EXS_REQUIRES(lock_);
  Status discard_found(const TransferCall& transfer, int source) EXS_REQUIRES(lock_);
  Status receive_claimed(const TransferCall& transfer) EXS_REQUIRES(lock_);
  Status receive_message(const TransferCall& transfer, exm_message_t message) EXS_REQUIRES(lock_);

  // Reports a completed transfer, and frees its record.
  void complete(TransferRecord& record, const exm_completion_t& end) noexcept EXS_REQUIRES(lock_);
  // The same, or throws std::bad_alloc, and nothing has changed.
  void finish(TransferRecord& record, const exm_completion_t& end) EXS_REQUIRES(lock_);
  void finish_multi(TransferRecord& record, const exm_completion_t& end) EXS_REQUIRES(lock_);
  // Posts the next receive of an FI_MULTI_RECV buffer. Returns false if the buffer is full and returns to the application.
  bool receive_next(TransferRecord& record, const exm_completion_t& end) noexcept EXS_REQUIRES(lock_);
  void retry_reports() noexcept;
  [[nodiscard]] const CompletionTarget& target_of(const TransferState& state) const noexcept {
    return (state.flags & FI_RECV) != 0 ? receives_ : sends_;
  }
  // Throws std::bad_alloc, and nothing is reported.
  void report(const CompletionTarget& target, const TransferState& state, const exm_completion_t& end)
      EXS_REQUIRES(lock_);
  static fi_cq_tagged_entry entry_of(const TransferState& state, const exm_completion_t& end) noexcept;

  const std::uint64_t caps_;
  exm_config_t config_{};
  std::string source_;
  std::uint64_t send_flags_;
  std::uint64_t receive_flags_;
  std::atomic<std::size_t> multi_receive_min_{kMultiReceiveBytesLeft};
  AddressVector* addresses_ = nullptr;
  CompletionTarget sends_;
  CompletionTarget receives_;
  exm_ep_t ep_ = nullptr;  // written by enable(), before any transfer

  LeafLock lock_;
  RecordPool records_ EXS_GUARDED_BY(lock_);
  std::vector<int> peers_ EXS_GUARDED_BY(lock_);                            // by address
  std::vector<fi_addr_t> addresses_of_peers_ EXS_GUARDED_BY(lock_);         // the first address of each peer
  std::unordered_map<void*, exm_message_t> claimed_ EXS_GUARDED_BY(lock_);  // by the context of the receive
  UnreportedList unreported_ EXS_GUARDED_BY(lock_);
  std::atomic<bool> has_unreported_{false};  // written under the lock, read without it
};

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** ep, void* context);

}  // namespace exs::fabric
