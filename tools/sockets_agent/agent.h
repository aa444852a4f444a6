// Brings the ends of connections between hosts together: a calling end asks by TCP, and finds the called one by the card that is left for it
// here. No byte of a connection passes through. Thread: one.
//
// Design notes
//  1. Who connects and does not ask has one of kClientsMax places. Where those or descriptors are short, who has been silent for longest makes room,
//     as soon as he has had a moment. Who finds none waits in the kernel.
//  2. Only what poll() names, or what is over, is looked at: a turn costs one call to the kernel, however many are silent.
//  3. Without memory for a turn the agent rests for a moment; what it has stays as it is.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "sockets/between/card_name.h"
#include "sockets/between/format.h"

namespace agent {

// A descriptor that closes with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool valid() const { return number_ >= 0; }

 private:
  int number_;
};

class Agent {
 public:
  // Listens at `address`, of IPv4; empty: at all of both families. Port 0: a free one.
  Agent(const std::string& address, std::uint16_t port, bool is_verbose);
  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Until the process ends.
  [[noreturn]] void run();

 private:
  using Request = exs::sockets::between::Request;
  using Verdict = exs::sockets::between::Verdict;
  // Somebody who asks.
  struct Client {
    Descriptor socket;
    exs::sockets::between::Place16 from;
    std::uint64_t end_ns;
    Request request{};
    std::size_t bytes = 0;
  };
  // What lies here for a called end.
  struct Card {
    Descriptor socket;
    Descriptor guest;
    std::uint64_t end_ns;
    uid_t owner;
    exs::sockets::between::Invitation invitation{};
    bool is_given = false;
  };

  void announce();
  void turn();
  void wait();
  void take_clients();
  bool take_client();
  // For one more who is silent. False: not yet.
  bool make_room();
  // Who has been silent for longest leaves. False: nobody has had his time.
  bool drop_silent();
  void rest_until(std::uint64_t time_ns);
  static void end(Card& card);
  // False: it has been served.
  bool serve(Client& client);
  bool serve(Card& card);
  Verdict place_card(const Client& client);
  void say(const char* what, const Request& request) const;

  Descriptor listener_;
  Descriptor announcement_;
  std::uint16_t port_ = 0;
  bool is_verbose_;
  bool is_announced_ = false;
  std::list<Client> clients_;  // the oldest first
  std::list<Card> cards_;
  std::vector<pollfd> polled_;    // the listener, then clients and cards in their order
  std::uint64_t now_ns_ = 0;      // of this turn
  std::uint64_t accepts_ns_ = 0;  // not before; 0: it does
};

}  // namespace agent
