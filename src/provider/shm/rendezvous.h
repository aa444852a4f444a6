// How the ports of one host find each other: a port's open channels, those on their way, and the meetings
// that wait for them.
//
// The initiator's invitation names the abstract socket of its port, and a token. The responder's port
// connects to that socket unless it has a channel there already, and joins with the token; the answer carries
// the number of the initiator's link. Two ports that invite each other have two channels, one for each
// direction, because only having connected to a name proves whose it is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "src/base/poller.h"
#include "src/base/unique_fd.h"
#include "src/provider/shm/channel.h"
#include "src/provider/shm/channel_setup.h"
#include "src/provider/shm/identity.h"
#include "src/provider/shm/meeting.h"
#include "src/provider/shm/settings.h"
#include "src/provider/completion_queue.h"

namespace exs::shm {

// One port's. Thread: shard.
class Rendezvous {
 public:
  static constexpr std::uint64_t kSetupLimitNs = 1'000'000'000;  // of a set-up, and of a meeting
  static constexpr std::size_t kHalfOpenMax = 64;  // set-ups by peers, and what they made without proof
  static constexpr std::size_t kChannelsMax = 4096;
  // A channel without links waits for another one that long; he who connected gives up first, so that nobody
  // joins a channel that is just being closed.
  static constexpr std::uint64_t kIdleConnectedNs = 5'000'000'000;
  static constexpr std::uint64_t kIdleAcceptedNs = 30'000'000'000;

  // All outlive it.
  Rendezvous(const Settings& settings, Poller& poller, CompletionQueue& completions);
  // After its meetings. Channels live on with their links.
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // ConnectionUpgrade::offer and begin.
  Result<std::unique_ptr<ShmMeeting>> invite(Reason& why_not);
  Result<std::unique_ptr<ShmMeeting>> meet(std::span<const std::byte> words, std::uint64_t meeting_token);

  // After each look at the poller: goes on with what was heard, ends what is overdue, drops what is over.
  void progress(std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t next_deadline_ns() const noexcept;
  // All whose rings are to be looked at. One that is over leaves once it has no link any more. Changed by
  // progress() alone.
  [[nodiscard]] std::span<const std::shared_ptr<Channel>> channels() const noexcept { return channels_; }

 private:
  friend class Invited;
  friend class Visit;

  // A channel, and when something happens to it by itself.
  struct Clock {
    bool proven = false;           // a token was right, or it is ours
    std::uint64_t overdue_ns = 0;  // 0: not set
  };
  class Door final : public Pollable {
   public:
    explicit Door(Rendezvous& home) noexcept : home_(home) {}
    void ready(std::uint32_t) override { home_.open_door(); }

   private:
    Rendezvous& home_;
  };

  bool listen(Reason& why_not);
  void open_door();
  void refuse_for_want_of_descriptors();
  void watch_door(bool open);
  void reopen_door(std::uint64_t now_ns);
  [[nodiscard]] std::size_t half_open() const noexcept;

  void forget(Invited& invited);
  void forget(Visit& visit);
  void begin(Visit& visit);
  void join(Visit& visit, const std::shared_ptr<Channel>& channel);
  void fail_visits(const Name& rendezvous, const Reason& why);
  [[nodiscard]] std::shared_ptr<Channel> channel_to(const Name& rendezvous) const;
  ChannelSetup* setup_to(const Name& rendezvous);

  void advance_setups(std::uint64_t now_ns);
  void open_channel(ChannelSetup& setup);
  void hear(const std::shared_ptr<Channel>& channel, Clock& clock);
  void answer_join(const std::shared_ptr<Channel>& channel, Clock& clock, const Note& join);
  void hear_answer(Channel& channel, const Note& answer);
  void hear_refusal(Channel& channel, const Note& refusal);
  void advance_visits(std::uint64_t now_ns);
  void drop_idle(std::uint64_t now_ns);

  const Settings& settings_;
  Poller& poller_;
  CompletionQueue& completions_;
  Door door_{*this};
  Name name_{};
  UniqueFd listener_;
  UniqueFd spare_;  // given up to tell a peer that there is no descriptor for it
  bool door_open_ = false;
  std::uint64_t door_retry_ns_ = 0;  // 0: nothing to wait for
  std::uint64_t next_knock_ns_ = kNoDeadline;
  std::vector<std::unique_ptr<ChannelSetup>> setups_;
  std::vector<std::shared_ptr<Channel>> channels_;
  std::vector<Clock> clocks_;  // of channels_, by index
  std::map<Name, Invited*> invited_;
  std::vector<Visit*> visits_;  // that wait
};

}  // namespace exs::shm
