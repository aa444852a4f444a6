// Brings the ends of connections between hosts together: the calling end asks by TCP, and the called end finds a card that is left for it
// here. No byte of a connection passes through the agent. Thread: one.
//
// Design notes
//  1. A silent client has one of kClientsMax places. If those or descriptors run short, the longest silent one makes room once it has had
//     a moment. Clients without a place wait in the kernel.
//  2. Only descriptors that poll() reports, and entries past their limit, are handled: a turn costs one system call, however many are
//     silent.
//  3. If memory runs out in a turn, the agent rests for a moment, and its state stays as it is.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "sockets/between/card_name.h"
#include "sockets/between/format.h"

namespace agent {

class Agent {
 public:
  // Listens at `address`, of IPv4; empty: at all addresses of both families. Port 0: a free one.
  Agent(const std::string& address, std::uint16_t port, bool is_verbose);
  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Runs until the process ends.
  [[noreturn]] void run();

 private:
  using Request = exs::sockets::between::AgentRequest;
  using Verdict = exs::sockets::between::Verdict;
  // A connection that asks for a card.
  struct Client {
    exs::UniqueFd socket;
    exs::sockets::between::Place16 from;
    std::uint64_t end_ns;
    Request request{};
    std::size_t bytes = 0;
  };
  // An invitation that waits for a called end.
  struct Card {
    exs::UniqueFd socket;
    exs::UniqueFd guest;
    std::uint64_t end_ns;
    uid_t owner;
    exs::sockets::between::HostInvitation invitation{};
    bool is_given = false;
  };

  void announce();
  void turn();
  void wait();
  void take_clients();
  bool take_client();
  // Makes room for one more silent client. Returns false if there is none yet.
  bool make_room();
  // Drops the longest silent client. Returns false if even that one has not had its time.
  bool drop_silent();
  void rest_until(std::uint64_t time_ns);
  static void end(Card& card);
  // Returns false if the client or card is done.
  bool serve(Client& client);
  bool serve(Card& card);
  Verdict place_card(const Client& client);
  void say(const char* what, const Request& request) const;

  exs::UniqueFd listener_;
  exs::UniqueFd announcement_;
  std::uint16_t port_ = 0;
  bool is_verbose_;
  bool is_announced_ = false;
  std::list<Client> clients_;  // the oldest first
  std::list<Card> cards_;
  std::vector<pollfd> polled_;    // the listener, then clients and cards in their order
  std::uint64_t now_ns_ = 0;      // of this turn
  std::uint64_t accepts_ns_ = 0;  // when to accept again; 0: now
};

}  // namespace agent
