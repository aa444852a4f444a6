// One process of a job. It matches its receives with the messages of others. All of it lives on one shard,
// under its drive lock.
//
// An arriving message goes from its peer's connection (Peer) to the matching receive, or into the mailbox
// (Mailbox). A posted receive looks into the mailbox first. A match completes a Request, for which some
// thread waits (Endpoint::wait).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "event/message/bell.h"
#include "event/message/mailbox.h"
#include "event/message/nap.h"
#include "event/message/peer.h"
#include "event/message/peer_table.h"
#include "event/message/tagged_acceptor.h"
#include "event/queue/brief_looks.h"
#include "event/queue/spin_choice.h"

namespace exs {

struct MessageCounters {
  std::uint64_t sends = 0, receives = 0, bytes_sent = 0, bytes_received = 0;
  std::uint64_t eager_sends = 0, rendezvous_sends = 0;
  std::uint64_t expected = 0, unexpected = 0;
};

struct EndpointOptions {
  std::uint32_t number = 0;       // of this process among the peers
  std::vector<PeerName> peers;    // known from the beginning, this one among them
  bool has_ranks = true;          // these are all that may be; else others come, by id
  SessionOptions session;         // of all connections
  std::uint32_t eager_bytes = 0;  // 0: what suits the provider
  std::uint64_t spin_ns = 0;      // before a thread that waits sleeps
  std::function<Result<UniqueFd>(int family)> open_socket;
};

// The memory of a send or receive: one piece, or several.
struct Buffer {
  std::byte* address = nullptr;
  std::size_t bytes = 0;
  std::span<const exs_iovec_t> pieces;
  bool is_lent = false;  // sends: only until the call returns, so what cannot leave at once is copied
};

class Endpoint final : public std::enable_shared_from_this<Endpoint> {
 public:
  Endpoint(std::shared_ptr<Shard> shard, EndpointOptions options);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // --- Thread: any ---
  [[nodiscard]] const EndpointOptions& options() const noexcept { return options_; }
  [[nodiscard]] const std::shared_ptr<Shard>& shard() const noexcept { return shard_; }
  Status listen(std::shared_ptr<TaggedAcceptor> acceptor);

  // The name of its connections in exs-top.
  void set_label(std::string label);

  // The peers that are known, this one among them.
  [[nodiscard]] std::uint32_t size() const noexcept { return peers_.size(); }
  // For endpoints without ranks: returns the number of the peer with that name. ENOSPC: the table is full.
  Result<std::uint32_t> enter(const PeerName& name);
  [[nodiscard]] PeerName name_of(std::uint32_t peer);

  // Returns 0 if the message has left; no completion follows. Otherwise returns a request, which ends when
  // the message has left or, if `label.synchronous`, has been matched.
  Result<exm_request_t> send(std::uint32_t to, const proto::Label& label, const Buffer& from,
                             const Listener& listener);
  exm_request_t receive(const match::Criteria& criteria, const Buffer& into, const Listener& listener);
  // A message that is there, and set apart as asked.
  bool probe(const match::Criteria& criteria, exm_status_t* status, exm_message_t* taken);
  bool probe(const match::Criteria& criteria, exm_completion_t& told, exm_message_t* taken);
  Status probe_and_wait(const match::Criteria& criteria, exm_status_t* status, exm_message_t* taken,
                        std::int64_t timeout_ns);
  // EINVAL: there is no message of that number.
  Result<exm_request_t> receive_taken(exm_message_t message, const Buffer& into, const Listener& listener);

  // Null: there is none.
  [[nodiscard]] Request* find(exm_request_t request) noexcept { return requests_.find(request); }
  // Waits until at least `enough` of them have ended: null ones count as such.
  Status wait(std::span<Request* const> requests, std::size_t enough, std::int64_t timeout_ns);
  // Looks once at what has arrived.
  void look_at_arrivals();
  // Returns the errno of an ended request and gives the request up.
  int take_status(Request& request, exm_status_t* status) noexcept;
  // Collects several requests for give_up().
  static int take_status(Request& request, exm_status_t* status, RequestChain& taken) noexcept;
  void give_up(const RequestChain& taken) noexcept { requests_.give_back(taken); }
  Status peek(exm_request_t* request, std::int64_t timeout_ns);
  void cancel(Request& request);
  void let_go(Request& request);

  // Takes ended requests whose listener polls, and gives them up. Returns their number; 0: none in time.
  Result<std::size_t> poll(std::span<exm_completion_t> told, std::int64_t timeout_ns);
  // A descriptor that is readable if, since arm_poll() returned true, a request has ended or something has
  // arrived.
  Result<int> poll_descriptor();
  // False: poll() has completions.
  bool arm_poll();

  std::vector<int> acknowledge_failures();
  void count(exm_stats_t& stats);
  // ETIMEDOUT: some sends were given up, or a peer did not answer. Else why a send that was open has not arrived.
  Status finalize(std::uint64_t limit_ns);

  // --- Thread: shard, of peers ---
  // Another party reports the death of a rank.
  void note_death(std::uint32_t rank);
  Request* take_receive(const match::Envelope& envelope);
  // Copies what has arrived into a receive, and ends it.
  void fill(Request& receive, std::uint32_t source, const proto::Arrival& arrival,
            const ArrivingMessage& message, std::size_t offset);
  // Fills in what `receive` will report.
  static void describe(Request& receive, std::uint32_t source, const proto::Arrival& arrival) noexcept;
  // `receive.status` describes the message.
  void end_received(Request& receive);
  void keep(std::unique_ptr<Kept> message);
  void end(Request& request, int error);
  void peer_gone(Peer& peer, int error);
  // A send to this rank has not arrived. finalize() reports that.
  void note_loss(std::uint32_t rank, int error) noexcept;
  // Notifies threads that wait for events without a request.
  void ring_watchers();
  void forget_adverts(Peer& peer) { mailbox_.forget_adverts(peer); }
  // The number of peers that may hold messages back has changed by one.
  void note_full(bool is_full) noexcept { full_peers_ += is_full ? 1 : -1; }
  [[nodiscard]] std::optional<proto::Wish> wanted_of(std::uint32_t source) const noexcept {
    return mailbox_.wanted_of(source);
  }
  [[nodiscard]] MessageCounters& counters() noexcept { return counters_; }
  // Null: the address is unknown.
  [[nodiscard]] const sockaddr_storage* address_of(std::uint32_t peer) const noexcept;
  // Decides which connection stays if both ends connect at once: true: this end's.
  [[nodiscard]] bool comes_before(std::uint32_t peer) const noexcept;
  // The options of a connection with that peer.
  [[nodiscard]] SessionOptions session_options(std::uint32_t peer) const;

 private:
  class Waiting;
  struct Loss {
    std::uint32_t rank = 0;
    int error = 0;  // 0: there was none
    [[nodiscard]] Status told() const;
  };

  Peer& peer(std::uint32_t rank);
  Request& open(Request::Kind kind, std::uint32_t peer, const Buffer& memory, const Listener& listener);
  static void keep_copy(Request& request);
  bool send_at_once(std::uint32_t to, const proto::Label& label, const Buffer& from);
  [[nodiscard]] bool send_short(Peer& to, const proto::Label& label, LocalSlice payload) noexcept;
  void count_eager(std::uint64_t bytes) noexcept;
  void send_to_self(Request& send);
  void look_between_posts() noexcept;
  // False: nothing moved that has to be driven.
  bool post_receive(Request& receive, const match::Criteria& criteria);
  bool give(Kept& kept, Request& receive);
  // Asks those that may hold back what fits. True: something is to be driven.
  bool want(const match::Criteria& criteria);
  [[nodiscard]] int why_none_comes(const match::Criteria& criteria) const noexcept;
  Result<std::uint32_t> number_of(const proto::TaggedAgreement& agreement);
  void accept(AcceptableRequest request, const Reason& why_no_device);
  void note_ended(const Request& request);
  void note_polled(Request& request);
  std::size_t take_polled(std::span<exm_completion_t> told);
  // Calls `tell` with the message that is there.
  template <typename Tell>
  bool find_kept(const match::Criteria& criteria, exm_message_t* taken, Tell&& tell);
  void drive();
  template <typename Take>
  void look_first(unsigned looks, Take&& take);
  bool looks_briefly(unsigned looks);
  bool found_at_first(Waiting& waiting);
  bool found_by_driving(Waiting& waiting, std::uint64_t now_ns);
  std::uint64_t spin(Waiting& waiting, std::uint64_t start_ns, std::uint64_t deadline_ns);
  Status sleep_once(Waiting& waiting, bool spins_on, std::uint64_t& now_ns, std::uint64_t deadline_ns);
  Status wait_for(Waiting& waiting, std::int64_t timeout_ns);
  template <typename Look>
  Status wait_until(Look&& look, std::int64_t timeout_ns);
  [[nodiscard]] std::unique_ptr<Nap> take_nap();
  void give_back(std::unique_ptr<Nap> nap) noexcept;
  // Parts of finalize().
  void leave(std::uint64_t limit_ns);
  Status wait_for_peers(std::int64_t timeout_ns);

  const std::shared_ptr<Shard> shard_;
  const EndpointOptions options_;
  PeerTable peers_;
  RequestPool requests_;

  // Thread: shard
  Mailbox mailbox_;
  std::vector<std::unique_ptr<Peer>> made_peers_;
  std::shared_ptr<TaggedAcceptor> acceptor_;
  MessageCounters counters_;
  std::string label_;  // of the connections in exs-top
  int full_peers_ = 0;
  std::uint32_t posts_ = 0;  // of receives
  std::vector<int> failed_;  // ranks that have died
  std::size_t failures_acknowledged_ = 0;
  std::vector<Nap*> watchers_;  // wait for messages, or for the end of any request or peer
  bool is_leaving_ = false;
  Loss loss_;
  bool is_peeked_ = false;
  Fifo<exm_request_t> ended_;        // valid if is_peeked_: not reported yet
  Request* first_polled_ = nullptr;  // list of the requests for poll()
  Request* last_polled_ = nullptr;
  std::atomic<std::uint32_t> polled_{0};  // how many; written under the drive lock
  std::unique_ptr<Bell> bell_;            // of poll_descriptor()

  // Of threads that wait.
  BriefLooks brief_looks_;
  SpinChoice spin_choice_;

  LeafLock naps_lock_;
  std::vector<std::unique_ptr<Nap>> naps_ EXS_GUARDED_BY(naps_lock_);
};

}  // namespace exs
