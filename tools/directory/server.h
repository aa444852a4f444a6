// A directory: connections of processes that have services or look for some, around Leases and Journal. Thread: one.
//
// Design notes
//  1. Unproven claims count against limits. A host has at most 256 connections, which hold at most a quarter of all services. A
//     connection that sends too much, reads too little, or sends an invalid message is closed.
//  2. A claim is signed for this connection, so a copied record claims nothing.
//  3. A renewal is cheap, and a service that is not renewed in time stops; checking a claim takes 70 us. So claims wait: a few are taken
//     in each turn, from all connections in turn. Later messages of a connection wait behind its claim, except for renewals: the answer
//     of a renewal that overtakes a claim comes first, as if it had been sent before.
//  4. A connection, and the claims of a host, have a share of a processor. A connection that has used its share is not read for a while.
//  5. Connections that have not greeted have places of their own, in server_places.cc. If those or descriptors run short, the longest
//     silent one makes room once it has had a moment. So a client that greets at once is served, however many do not.
//  6. If memory runs out for a message, its connection is closed. That frees some memory, and the others go on.
// SPDX-License-Identifier: BSD-2-Clause
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
  // Waits this long for messages; < 0: without a limit.
  void turn(int wait_ms);

 private:
  struct Connection {
    UniqueFd descriptor;
    HostBytes host{};
    Nonce nonce{};
    bool has_greeted = false;
    std::uint64_t since_ns = 0;
    std::uint64_t second_ns = 0;  // start of the second in which messages are counted
    std::size_t messages = 0;
    std::uint64_t renewed_ns = 0;
    Budget budget{kPercentOfConnection, kBurstOfConnectionNs};
    std::vector<std::uint8_t> in;
    std::deque<std::vector<std::uint8_t>> waiting;  // a claim, and the messages behind it
    std::size_t waiting_bytes = 0;
    std::vector<std::uint8_t> out;
    std::set<IdBytes> watches;
  };
  using Number = Leases::Holder;
  struct Host {
    std::set<Number> connections;
    std::size_t greeted = 0;                        // number of those that have greeted
    Budget budget{kPercentOfHost, kBurstOfHostNs};  // for claims
    std::uint64_t second_ns = 0;
    std::size_t messages = 0;
  };
  // Allows a starting process to claim 1,024 services at once, and a starting directory to receive all services of a host.
  static constexpr int kPercentOfConnection = 25;
  static constexpr std::uint64_t kBurstOfConnectionNs = 250 * kNsPerMs;
  static constexpr int kPercentOfHost = 50;
  static constexpr std::uint64_t kBurstOfHostNs = 500 * kNsPerMs;

  void listen(const sockaddr_storage& address);
  void serve(int wait_ms);
  [[nodiscard]] int wait_of(int wait_ms) const;
  void accept_all(std::uint64_t now);
  bool accept_one(std::uint64_t now);
  void begin(UniqueFd descriptor, const HostBytes& host, std::uint64_t now);
  // Makes room for one more silent connection. Returns false if there is none yet.
  bool make_room(std::uint64_t now);
  // Drops the longest silent connection. Returns false if even that one has not had its time.
  bool drop_silent(std::uint64_t now);
  void drop_oldest_silent(std::uint64_t now);
  void close_late_silent(std::uint64_t now);
  void rest_until(std::uint64_t time_ns);
  void accept_again(std::uint64_t now);
  bool greeted(Number number, Connection& connection);
  void shed(std::uint64_t now) noexcept;
  [[nodiscard]] std::size_t places_of(const HostBytes& host) const;
  void read_from(Number number, Connection& connection);
  // Returns false if the connection has to be closed.
  bool hear(Number number, Connection& connection, Bytes bytes, std::uint64_t now);
  bool count_message(Connection& connection, std::uint64_t now);
  [[nodiscard]] bool may_say_more(Connection& connection, std::uint64_t now);
  [[nodiscard]] bool may_claim(Connection& connection, std::uint64_t now);
  [[nodiscard]] bool has_claims(std::uint64_t now);
  void take_claims();
  void read_again(std::uint64_t now);
  // Returns false if the connection has to be closed.
  bool take(Number number, Connection& connection, const DirectoryMessage& message, std::uint64_t now);
  bool claim(Number number, Connection& connection, const DirectoryMessage& message, std::uint64_t now);
  void ask_for(const IdBytes& id, Bytes newer);
  bool watch(Number number, Connection& connection, const IdBytes& id);
  void unwatch(Number number, const IdBytes& id);
  void tell_of(Connection& connection, const IdBytes& id);
  bool keep(const Leases::Entry& entry);
  void changed(const IdBytes& id, const Leases::Entry& entry, Number overtaken);
  void say(Connection& connection, const DirectoryMessage& message);
  void flush(Number number, Connection& connection);
  void watch_again(Number number, Connection& connection);
  void close(Number number, std::uint64_t now);
  void close_all_that_are_to_be(std::uint64_t now);
  void set_watched(Number number, int descriptor, bool reads, bool writes, bool is_new = false) const;

  const bool is_verbose_;
  const std::size_t places_of_host_max_;
  exs::LogLimit file_lines_;
  UniqueFd watch_;
  UniqueFd listener_;
  sockaddr_storage address_{};
  std::uint64_t accepts_ns_ = 0;  // when to accept again; 0: now
  Journal journal_;
  Leases leases_;
  Number last_number_ = 0;
  std::map<Number, Connection> connections_;
  std::map<HostBytes, Host> hosts_;
  std::map<IdBytes, std::set<Number>> watchers_;
  std::set<Number> silent_;  // have not greeted; the oldest first
  std::set<Number> to_close_;
  Number in_hand_ = 0;        // the connection being served
  std::set<Number> waiting_;  // for their claims to be taken
  Number last_worked_ = 0;    // of the waiting ones
  std::set<Number> paused_;   // not read for a while
};

}  // namespace exs::svc
