// A connection between two nodes, which carries the flows that its initiator opens. Thread: holder of the node's lock.
//
// Design notes
//  1. Both ends greet with a number that nobody has used before. What is signed or proven on a link says both, so that it is worth
//     nothing on any other.
//  2. A link that has broken tells its node when exs has let go of all that was under way: frames may be sent from the same memory
//     by another link then.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "exs/exs.h"
#include "service/names/clock.h"
#include "service/names/statements.h"
#include "service/wire/frames.h"

namespace exs::svc {

class Link;
class Peer;
struct ServiceFlow;

// What a link tells its node. Each is the last thing that the link does in a step.
class LinkClient {
 public:
  virtual void link_is_up(Link& link) = 0;
  // Whatever is no greeting.
  virtual void frame_arrived(Link& link, const Header& header, Bytes frame) = 0;
  // The link may be destroyed.
  virtual void link_has_gone(Link& link) = 0;
  // look_at_clock() is to be called then.
  virtual void wake_at(std::int64_t time_ns) = 0;

 protected:
  ~LinkClient() = default;
};

class Link {
 public:
  Link(LinkClient& client, exs_qhandle_t queue, exs_phandle_t pool)
      : client_(client), queue_(queue), pool_(pool) {}
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // errno values of exs_socket() and exs_connect(). Nothing has begun then.
  int connect(const sockaddr_storage& address);
  // Takes a connected socket.
  int accept(int socket);

  // An event of its socket.
  void take(const exs_event_t& event);
  void look_at_clock(std::int64_t now_ns);

  // Copied. A link that cannot take it breaks.
  void send(Encoded frame);
  // From memory that stays as it is until the frame has arrived or the link is gone. False: later, when had_no_room() says so.
  bool send_kept(Encoded frame, exs_mhandle_t region);

  [[nodiscard]] bool is_up() const noexcept { return state_ == State::kUp; }
  [[nodiscard]] bool is_initiator() const noexcept { return is_initiator_; }
  [[nodiscard]] const std::string& address_key() const noexcept { return address_key_; }
  [[nodiscard]] LinkNonces nonces() const noexcept {
    return is_initiator_ ? LinkNonces{our_nonce_, their_nonce_} : LinkNonces{their_nonce_, our_nonce_};
  }

  // The peer did what no peer does.
  void refuse() { end(EPROTO); }
  // Nothing of it is of use any more, for a reason that is an errno, or 0.
  void end(int error = 0);
  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] std::int64_t due_ns() const noexcept { return due_ns_; }

  // There was none since the last call, and frames are kept by peers of this link.
  bool had_no_room() noexcept { return std::exchange(had_no_room_, false); }
  // Lets what was sent arrive, for a moment, and ends then.
  void end_gently();

  std::uint32_t next_alias = 1;
  std::unordered_map<std::uint32_t, Peer*> peers;         // of an initiator
  std::unordered_map<std::uint32_t, ServiceFlow*> flows;  // of an acceptor

 private:
  enum class State { kIdle, kConnecting, kGreeting, kUp, kEnding };

  int begin();
  void greet();
  void received(const exs_event_t& event);
  void close_within(int linger_ms, int error);
  void take_greeting(Bytes frame, const Header& header);

  LinkClient& client_;
  exs_qhandle_t queue_;
  exs_phandle_t pool_;
  int socket_ = -1;
  State state_ = State::kIdle;
  bool is_initiator_ = false;
  bool had_no_room_ = false;
  int error_ = 0;
  std::int64_t due_ns_ = kNever;  // an initiator is to have greeted by then
  std::string address_key_;
  Nonce our_nonce_{};
  Nonce their_nonce_{};
};

// That the library's sockets are those of a link.
int make_link_socket(int family);

}  // namespace exs::svc
