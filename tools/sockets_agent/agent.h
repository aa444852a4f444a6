// Brings the ends of connections between hosts together: a calling end asks by TCP, and finds the called one by the card that is left for it
// here. No byte of a connection passes through. Thread: one.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <list>
#include <string>

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
  [[nodiscard]] bool has_place() const;
  void take_client();
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
  std::list<Client> clients_;
  std::list<Card> cards_;
};

}  // namespace agent
