// Two links connected in memory. Nothing moves by itself: the test decides which message is delivered, which
// send completes and which read is served, so it can produce every interleaving. A link records violations of
// the rules: reads or writes outside a window, exceeded depths, a message without a posted receive, memory
// that changed before its send completed.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/provider/provider.h"
#include "tests/support/snapshot_heap.h"

namespace exs::test {

using Bytes = std::vector<std::byte>;

class FakeLink final : public Link {
 public:
  FakeLink(std::vector<std::string>& violations, const LinkDepths& depths)
      : violations_(violations), depths_(depths) {}
  static void join(FakeLink& one, FakeLink& other);

  Status post_send(std::span<const std::byte> header, LocalSlice payload, std::uint64_t token) override;
  Status send_now(std::span<const std::byte> header, LocalSlice payload) noexcept override;
  bool send_short(std::span<const std::byte> header, LocalSlice payload) noexcept override {
    return send_now(header, payload).ok();
  }
  [[nodiscard]] bool sends_short() const noexcept override { return sends_now_; }
  void show_messages_to(MessageTaker& taker) override { taker_ = &taker; }
  Status post_recv(LocalSlice into, std::uint64_t token) override;
  [[nodiscard]] bool grow_receives(std::uint32_t more) noexcept override {
    depths_.receives += more;
    return true;
  }
  Status post_read(LocalSlice into, RemoteSlice from, std::uint64_t token) override;
  Status post_write(LocalSlice from, RemoteSlice to, std::uint64_t token) override;
  Result<RemoteSlice> expose(LocalSlice memory, Access access) override;
  Status withdraw(std::uint32_t key) override;
  [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return {}; }
  void close() noexcept override;

  Status read_now(LocalSlice into, RemoteSlice from) noexcept override;
  [[nodiscard]] bool reads_now() const noexcept override { return reads_now_; }
  [[nodiscard]] std::uint64_t round_trip_ns() const noexcept override { return distance_ns; }

  // From now on messages may leave, and reads may complete, within the call that posts them.
  void let_send_now() { sends_now_ = true; }
  void let_read_now() { reads_now_ = true; }

  std::uint64_t distance_ns = 0;  // there and back

  // --- The schedule. Each returns false if there is nothing of its kind to do. ---
  bool deliver_message();  // the oldest message under way to this end lands in a posted receive, or the
                           // oldest write in its window
  bool finish_send();      // our oldest send or write completes
  bool begin_read();       // the peer begins to serve our oldest read: its window is busy
  bool finish_read();      // the data of the oldest begun read land here
  bool deliver_end();      // the peer closed its link: once its messages are delivered, this link ends
  std::optional<Completion> poll();
  // Loses everything in transit and ends this link with `why`. The peer ends when the test breaks it, too.
  void break_off(Status why);

  // --- State that tests check, and forged messages ---
  // Delivers a message as if the peer had sent it.
  void inject(Bytes message) {
    incoming_.push_back({message, {}, false});
    unpolled_.push_back(std::move(message));
  }
  // All messages this end has posted.
  [[nodiscard]] const std::vector<Bytes>& sent() const { return sent_; }
  // Messages of the peer that poll() has not returned yet.
  [[nodiscard]] const std::deque<Bytes>& unpolled() const { return unpolled_; }
  [[nodiscard]] bool is_open() const { return state_ == State::kOpen; }
  [[nodiscard]] std::size_t windows() const { return windows_.size(); }
  // A window on this memory is open.
  [[nodiscard]] bool exposes(const std::byte* memory) const;
  [[nodiscard]] std::size_t receives_posted() const { return receives_.size(); }
  [[nodiscard]] std::size_t reads_outstanding() const { return reads_.size(); }
  [[nodiscard]] std::size_t writes_outstanding() const { return sends_.size() - messages_out_; }
  // Further windows fail with ENOSPC.
  void limit_windows(std::size_t most) noexcept { windows_most_ = most; }
  // The n-th call from now (1 is the next) of a post, expose or withdraw fails; 0: none. ENOTCONN also breaks
  // the link.
  void fail_call(std::uint64_t n, int error) { fail_in_ = n, fail_error_ = error; }
  // All that what comes next depends on.
  void add_to(Fingerprint& moment) const;
  // For the memory of each receive that is posted, which is the link's.
  template <typename Use>
  void use_posted_memory(const Use& use) {
    for (const Receive& each : receives_) use(std::span(each.into.address, each.into.length_bytes));
  }
  // The number of these calls, including failed ones.
  [[nodiscard]] std::uint64_t calls() const { return calls_; }

 private:
  enum class State { kOpen, kEnded, kClosed };
  struct Receive {
    LocalSlice into;
    std::uint64_t token;
  };
  struct Arrival {
    Bytes bytes;
    RemoteSlice to;  // of a write
    bool is_write;
  };
  struct Send {
    Bytes payload;  // as it was when posted
    LocalSlice memory;
    std::uint64_t token;
    std::uint64_t number;
    bool is_write;
  };
  struct Read {
    LocalSlice into;
    RemoteSlice from;
    std::uint64_t token;
    bool begun;
  };
  struct Window {
    LocalSlice memory;
    std::uint64_t address;
    Access access;
    unsigned readers;
  };

  Status admit();
  Bytes put_under_way(std::span<const std::byte> header, LocalSlice payload);
  void violate(const std::string& what) { violations_.push_back(what); }
  void complete(CompletionKind kind, Status status, std::uint64_t token, std::uint32_t length_bytes = 0);
  void end_posts(Status why);
  Window* window_for(const RemoteSlice& slice, Access access);
  bool is_taken(Place by, const Bytes& message);
  bool land(const Arrival& write);

  std::vector<std::string>& violations_;
  LinkDepths depths_;
  FakeLink* peer_ = nullptr;
  State state_ = State::kOpen;
  bool sends_now_ = false;
  bool reads_now_ = false;
  MessageTaker* taker_ = nullptr;
  std::deque<Receive> receives_;
  std::deque<Send> sends_;
  std::uint64_t sends_posted_ = 0;
  std::uint64_t delivered_to_peer_ = 0;
  std::uint32_t messages_out_ = 0;
  std::deque<Arrival> incoming_;
  std::deque<Bytes> unpolled_;
  bool peer_closed_ = false;
  std::deque<Read> reads_;
  std::map<std::uint32_t, Window> windows_;
  std::size_t windows_most_ = SIZE_MAX;
  std::uint32_t next_key_ = 1;
  std::deque<Completion> completions_;
  std::vector<Bytes> sent_;
  std::uint64_t calls_ = 0;
  std::uint64_t fail_in_ = 0;
  int fail_error_ = 0;
};

}  // namespace exs::test
