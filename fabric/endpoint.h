// An endpoint (FI_EP_RDM): one endpoint of exs (exm_open), with the queues, counters and addresses that are bound to it.
//
// Design notes
//  1. Each transfer has a Record from its post until its completion is reported. Sends that leave at once and report nothing have none.
//     exm_tpoll finds completions (reap()), and the thread that called it reports them to queues and counters.
//  2. The order of locks is: a Reaper's, the endpoint's, a queue's. Calls of exs hold the endpoint's lock, so a transfer that completes
//     at once is not reported before its post is complete.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <rdma/fi_endpoint.h>

#include "exs/msg.h"
#include "fabric/address_vector.h"
#include "fabric/completion_queue.h"
#include "fabric/counter.h"
#include "fabric/fid.h"
#include "fabric/offer.h"
#include "fabric/record.h"
#include "fabric/short_lock.h"

namespace exs::fabric {

struct Transfer {
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

  int bind(fid& other, std::uint64_t flags);
  int enable();
  // Nothing is reported any more.
  void close();

  int name(void* into, std::size_t* length);
  ssize_t send(const Transfer& transfer);
  ssize_t receive(const Transfer& transfer);
  // Handles FI_PEEK, FI_CLAIM and FI_DISCARD.
  ssize_t probe(const Transfer& transfer);
  int cancel(void* context);

  [[nodiscard]] std::uint64_t send_flags() const noexcept { return send_flags_; }
  [[nodiscard]] std::uint64_t receive_flags() const noexcept { return receive_flags_; }
  void set_send_flags(std::uint64_t flags) noexcept { send_flags_ = flags; }
  void set_receive_flags(std::uint64_t flags) noexcept { receive_flags_ = flags; }
  // FI_OPT_MIN_MULTI_RECV, for receives that are posted from now on.
  [[nodiscard]] std::size_t multi_receive_min() const noexcept { return multi_receive_min_; }
  void set_multi_receive_min(std::size_t bytes) noexcept { multi_receive_min_ = bytes; }

  // Called by an address vector. Returns false if the name is invalid.
  bool know(fi_addr_t address, const Name& name);
  void forget(fi_addr_t address);

  // Called by a Reaper.
  void reap();
  [[nodiscard]] bool arm() noexcept { return exm_tarm(ep_) == 1; }
  [[nodiscard]] int descriptor() noexcept { return exm_tfd(ep_); }

 private:
  // The queue and counter of one direction.
  struct Told {
    CompletionQueue* queue = nullptr;
    Counter* counter = nullptr;
    bool is_selective = false;

    [[nodiscard]] bool reports(std::uint64_t flags) const noexcept {
      return queue != nullptr && (!is_selective || (flags & FI_COMPLETION) != 0);
    }
  };

  int bind_queue(CompletionQueue& queue, std::uint64_t flags);
  int bind_counter(Counter& counter, std::uint64_t flags);
  template <typename Use>
  void each_reaper(Use&& use);
  // Returns EXM_ANY_SOURCE for any peer, and less if the address is unknown.
  [[nodiscard]] int peer_of(fi_addr_t address) const noexcept;
  [[nodiscard]] fi_addr_t address_of(int peer) const noexcept;
  [[nodiscard]] bool has_enough_bound() const noexcept;
  ssize_t claim(const Transfer& transfer);
  ssize_t take(const Transfer& transfer, exm_message_t message);
  // Posts the next receive of an FI_MULTI_RECV buffer. Returns false if the buffer is full and returns to the application.
  bool receive_next(Record& record, const exm_completion_t& end) noexcept;
  void end_receive(Record& record, exm_completion_t end);
  // `flags` are added to those of the record. `buffer` is where the message lies.
  void tell(const Told& told, const Record& record, const exm_completion_t& end, std::uint64_t flags = 0,
            void* buffer = nullptr);

  const std::uint64_t caps_;
  exm_config_t config_{};
  std::string source_;
  std::uint64_t send_flags_;
  std::uint64_t receive_flags_;
  std::atomic<std::size_t> multi_receive_min_{kMultiReceiveBytesLeft};
  AddressVector* addresses_ = nullptr;
  Told sends_;
  Told receives_;
  exm_ep_t ep_ = nullptr;

  ShortLock lock_;
  RecordPool records_;
  std::vector<int> peers_;                            // by address
  std::vector<fi_addr_t> addresses_of_peers_;         // the first address of each peer
  std::unordered_map<void*, exm_message_t> claimed_;  // by the context that will receive them
};

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** ep, void* context);

}  // namespace exs::fabric
