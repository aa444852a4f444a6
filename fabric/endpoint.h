// An endpoint (FI_EP_RDM): one of exs (exm_open), with the queues, counters and addresses that are bound to it.
//
// Design notes
//  1. Each transfer has a Record from its post until its end is told, but sends that are gone when they are posted and nobody asks
//     for. exm_tpoll finds the ends (reap()), and whoever looks tells them to the queues and counters.
//  2. Order of locks: a Reaper's, the endpoint's, a queue's. exs is called under the endpoint's, so that a transfer that ends at once
//     is not told before its post is complete.
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
  bool is_silent = false;  // fi_inject and its like: nobody hears of it but counters
};

// Thread: any.
class Endpoint final : public Object<Endpoint, fid_ep> {
 public:
  Endpoint(const fi_info& info, void* context);
  ~Endpoint();

  int bind(fid& other, std::uint64_t flags);
  int enable();
  // Nothing is told any more.
  void close();

  int name(void* into, std::size_t* length);
  ssize_t send(const Transfer& transfer);
  ssize_t receive(const Transfer& transfer);
  // FI_PEEK, FI_CLAIM, FI_DISCARD.
  ssize_t probe(const Transfer& transfer);
  int cancel(void* context);

  [[nodiscard]] std::uint64_t send_flags() const noexcept { return send_flags_; }
  [[nodiscard]] std::uint64_t receive_flags() const noexcept { return receive_flags_; }
  void set_send_flags(std::uint64_t flags) noexcept { send_flags_ = flags; }
  void set_receive_flags(std::uint64_t flags) noexcept { receive_flags_ = flags; }
  // FI_OPT_MIN_MULTI_RECV. Of receives that are posted from now on.
  [[nodiscard]] std::size_t multi_receive_min() const noexcept { return multi_receive_min_; }
  void set_multi_receive_min(std::size_t bytes) noexcept { multi_receive_min_ = bytes; }

  // Of an address vector. False: it is no name.
  bool know(fi_addr_t address, const Name& name);
  void forget(fi_addr_t address);

  // Of a Reaper.
  void reap();
  [[nodiscard]] bool arm() noexcept { return exm_tarm(ep_) == 1; }
  [[nodiscard]] int descriptor() noexcept { return exm_tfd(ep_); }

 private:
  // One direction: where its ends are told.
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
  // EXM_ANY_SOURCE: any. Less: there is none of that address.
  [[nodiscard]] int peer_of(fi_addr_t address) const noexcept;
  [[nodiscard]] fi_addr_t address_of(int peer) const noexcept;
  [[nodiscard]] bool has_enough_bound() const noexcept;
  ssize_t claim(const Transfer& transfer);
  ssize_t take(const Transfer& transfer, exm_message_t message);
  // The next message of an FI_MULTI_RECV buffer. False: it takes no more, and goes back to the application.
  bool receive_next(Record& record, const exm_completion_t& end) noexcept;
  void end_receive(Record& record, exm_completion_t end);
  // `flags`: of the completion, besides the record's. `buffer`: where the message lies.
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
  std::vector<fi_addr_t> addresses_of_peers_;         // the first of each
  std::unordered_map<void*, exm_message_t> claimed_;  // by the context that is to receive them
};

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** ep, void* context);

}  // namespace exs::fabric
