// Two ports become a channel: credentials, memory, doorbells and what each may do to the other, over a Unix
// socket.
//
//   connector                     acceptor
//   connect
//                                 who is it? -> welcome(segment, doorbell), or refusal(code) and the end
//   who is it? tries its memory
//   hello(segment, doorbell) ->
//   is ready                      tries its memory; is ready
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>

#include "src/base/poller.h"
#include "src/base/unique_fd.h"
#include "src/provider/shm/channel.h"
#include "src/provider/shm/note.h"
#include "src/provider/shm/settings.h"

namespace exs::shm {

// One end of it. Thread: shard. Destroyed by nobody while ready() runs.
class ChannelSetup final : public Pollable {
 public:
  // Both outlive it.
  ChannelSetup(const Settings& settings, Poller& poller) : settings_(settings), poller_(poller) {}
  ~ChannelSetup() override;
  ChannelSetup(const ChannelSetup&) = delete;
  ChannelSetup& operator=(const ChannelSetup&) = delete;

  // Starts as the connector to that port.
  void connect(const Name& rendezvous);
  // Starts as the acceptor on what a rendezvous accepted.
  void accept(UniqueFd socket);

  enum class State : std::uint8_t { kKnocking, kAwaitsWelcome, kAwaitsHello, kReady, kFailed };
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] const Reason& why_not() const noexcept { return why_not_; }
  [[nodiscard]] bool accepted() const noexcept { return parts_.accepted; }
  [[nodiscard]] const Name& rendezvous() const noexcept { return parts_.rendezvous; }
  // kKnocking: the peer's queue of connections was full.
  void knock();
  // kReady. Once.
  Channel::Parts take_parts();

  std::uint64_t deadline_ns = 0;  // the rendezvous's; 0: not set yet

  void ready(std::uint32_t events) override;

 private:
  void fail(const Reason& why);
  // The acceptor tells its peer, too.
  void refuse(const Reason& why);
  bool check_user();
  bool make_ours(Note& greeting, UniqueFd& memfd);
  bool send_greeting(NoteKind kind);
  bool take_greeting(ReceivedNote& received);
  // False: refused.
  bool find_peer_process(const Note& greeting);
  void take_refusal(const Note& refusal);

  const Settings& settings_;
  Poller& poller_;
  State state_ = State::kFailed;
  bool polled_ = false;
  uid_t peer_uid_ = 0;
  Channel::Parts parts_;
  Reason why_not_;
};

// The address of the port's abstract socket, which has no name in any file system and goes with its owner.
struct RendezvousAddress {
  explicit RendezvousAddress(const Name& rendezvous);
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address); }
  sockaddr_un address{};
  socklen_t bytes = 0;
};

}  // namespace exs::shm
