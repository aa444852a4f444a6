// A directory: connections of processes that have services or look for some, around Leases and Journal. Thread: one.
//
// Design notes
//  1. What nobody has proven counts against limits: a host has 256 connections at most, which hold a quarter of all services; one that
//     says too much, reads too little, or says something that is none, is closed.
//  2. A claim is signed for this connection, so a record that somebody has kept holds nothing.
//  3. A renewal costs next to nothing, and a service that is not renewed in time stops; to prove a claim takes 70 us. So claims wait, a few
//     in each turn, those of all connections in turn, and what a connection says behind one waits with it, but for renewals: the answer
//     of one that overtakes a claim comes before the claim's, as if it had been said before.
//  4. A connection, and the claims of a host, have a share of a processor. Who has used it up is not read for a while.
//  5. Connections that have not greeted have places of their own, in server_places.cc. Where those or descriptors are short, who has been
//     silent for longest makes room, as soon as he has had a moment: whoever greets at once is served, however many do not.
//  6. Without memory for what somebody says his connection is closed, which gives some back, and others go on.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>

#include "service/names/address.h"
#include "service/names/directory_wire.h"
#include "tools/common/lines.h"
#include "tools/directory/budget.h"
#include "tools/directory/journal.h"

namespace exs::svc {

class DirectoryServer {
 public:
  static constexpr std::size_t kEntriesMax = 65'536;
  static constexpr std::size_t kPlacesOfHostMax = kEntriesMax / 4;
  static constexpr int kClaimsInTurn = 16;
  // Throws tools::Failure.
  DirectoryServer(const sockaddr_storage& listen, const std::string& journal_path, bool is_verbose,
                  std::size_t places_of_host_max = kPlacesOfHostMax);
  [[nodiscard]] const sockaddr_storage& address() const noexcept { return address_; }
  [[nodiscard]] std::size_t connections() const noexcept { return connections_.size(); }
  [[nodiscard]] std::size_t silent_connections() const noexcept { return silent_.size(); }
  [[noreturn]] void run();
  // Waits for as long, if nobody says anything; < 0: until somebody does.
  void turn(int wait_ms);

 private:
  struct Connection {
    Descriptor descriptor;
    HostBytes host{};
    Nonce nonce{};
    bool has_greeted = false;
    std::int64_t since_ns = 0;
    std::int64_t second_ns = 0;  // since when messages are counted
    std::size_t messages = 0;
    std::int64_t renewed_ns = 0;
    Budget budget{kPercentOfConnection, kBurstOfConnectionNs};
    std::vector<std::uint8_t> in;
    std::deque<std::vector<std::uint8_t>> waiting;  // a claim, and what is behind it
    std::size_t waiting_bytes = 0;
    std::vector<std::uint8_t> out;
    std::set<IdBytes> watches;
  };
  using Number = Leases::Holder;
  struct Host {
    std::set<Number> connections;
    std::size_t greeted = 0;                        // of them
    Budget budget{kPercentOfHost, kBurstOfHostNs};  // for claims
    std::int64_t second_ns = 0;
    std::size_t messages = 0;
  };
  // A process that starts claims 1,024 services at once; a directory that starts is told of all that a host has.
  static constexpr std::int64_t kPercentOfConnection = 25;
  static constexpr std::int64_t kBurstOfConnectionNs = 250 * kNsPerMs;
  static constexpr std::int64_t kPercentOfHost = 50;
  static constexpr std::int64_t kBurstOfHostNs = 500 * kNsPerMs;

  void listen(const sockaddr_storage& address);
  void serve(int wait_ms);
  [[nodiscard]] int wait_of(int wait_ms) const;
  void accept_all(std::int64_t now);
  bool accept_one(std::int64_t now);
  void begin(Descriptor descriptor, const HostBytes& host, std::int64_t now);
  // For one more that has not greeted. False: not yet.
  bool make_room(std::int64_t now);
  // Who has been silent for longest leaves. False: nobody has had his time.
  bool drop_silent(std::int64_t now);
  void drop_oldest_silent(std::int64_t now);
  void close_late_silent(std::int64_t now);
  void rest_until(std::int64_t time_ns);
  void accept_again(std::int64_t now);
  bool greeted(Number number, Connection& connection);
  void shed(std::int64_t now) noexcept;
  [[nodiscard]] std::size_t places_of(const HostBytes& host) const;
  void read_from(Number number, Connection& connection);
  // False: it is to be closed.
  bool hear(Number number, Connection& connection, Bytes bytes, std::int64_t now);
  bool count_message(Connection& connection, std::int64_t now);
  [[nodiscard]] bool may_say_more(Connection& connection, std::int64_t now);
  [[nodiscard]] bool may_claim(Connection& connection, std::int64_t now);
  [[nodiscard]] bool has_claims(std::int64_t now);
  void take_claims();
  void read_again(std::int64_t now);
  // False: it is to be closed.
  bool take(Number number, Connection& connection, const DirectoryMessage& message, std::int64_t now);
  bool claim(Number number, Connection& connection, const DirectoryMessage& message, std::int64_t now);
  void ask_for(const IdBytes& id, Bytes newer);
  bool watch(Number number, Connection& connection, const IdBytes& id);
  void unwatch(Number number, const IdBytes& id);
  void tell_of(Connection& connection, const IdBytes& id);
  bool keep(const Leases::Entry& entry);
  void changed(const IdBytes& id, const Leases::Entry& entry, Number overtaken);
  void say(Connection& connection, const DirectoryMessage& message);
  void flush(Number number, Connection& connection);
  void watch_again(Number number, Connection& connection);
  void close(Number number, std::int64_t now);
  void close_all_that_are_to_be(std::int64_t now);
  void set_watched(Number number, int descriptor, bool reads, bool writes, bool is_new = false) const;

  const bool is_verbose_;
  const std::size_t places_of_host_max_;
  exs::LogLimit file_lines_;
  Descriptor watch_;
  Descriptor listener_;
  sockaddr_storage address_{};
  std::int64_t accepts_ns_ = 0;  // not before; 0: it does
  Journal journal_;
  Leases leases_;
  Number last_number_ = 0;
  std::map<Number, Connection> connections_;
  std::map<HostBytes, Host> hosts_;
  std::map<IdBytes, std::set<Number>> watchers_;
  std::set<Number> silent_;  // have not greeted; the oldest first
  std::set<Number> to_close_;
  Number in_hand_ = 0;        // who is served
  std::set<Number> waiting_;  // for their claims
  Number last_worked_ = 0;    // of them
  std::set<Number> paused_;   // are not read
};

}  // namespace exs::svc
