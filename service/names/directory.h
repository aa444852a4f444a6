// The resolver by directory (exs-directory(1)): one TCP connection, open while there is something to claim or to ask. FORMAT.md has the
// messages.
//
// Design notes
//  1. The directory is not trusted: records prove themselves. It can deny, and nothing else.
//  2. Claims are renewed every 150 ms, and a lease lasts 600 ms. If the directory does not answer for that long, the client
//     connects again, and repeats all claims and questions.
//  3. The directory grants a fenced service a lease, and gives its name to nobody else meanwhile (lease.h). A claim that has to wait is
//     repeated with each renewal.
//  4. A question stays open for a minute, so a service that is claimed later is found at once.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <deque>
#include <map>

#include "base/unique_fd.h"
#include "service/names/directory_wire.h"
#include "service/names/lease.h"
#include "service/names/lookup_log.h"
#include "service/names/resolver.h"

namespace exs::svc {

class Directory final : public Resolver {
 public:
  static constexpr std::size_t kQuestionsMax = 1024;

  // `client` outlives the directory. Throws std::system_error if no descriptors are left.
  Directory(const sockaddr_storage& address, ResolverClient& client);

  void claim(const IdBytes& id, const Publication& place, std::uint64_t now) override;
  void unclaim(const IdBytes& id) override;
  [[nodiscard]] std::string name() const override;
  void ask(const IdBytes& id, std::uint64_t now) override;
  void step(std::uint64_t now) override;
  [[nodiscard]] bool is_open() const noexcept { return state_ == State::kOpen; }
  [[nodiscard]] int descriptor() const override { return watch_.get(); }
  [[nodiscard]] std::uint64_t next_time() const override;

 private:
  enum class State { kAway, kConnecting, kGreeting, kOpen };
  struct Claim {
    Publication place;
    std::vector<std::uint8_t> record;
    Lease lease;
    bool is_over = false;  // another process holds the name, or will
  };
  struct Renewal {
    std::uint32_t number = 0;
    std::uint64_t sent_ns = 0;
  };
  struct Question {
    std::uint64_t asked_ns = 0;
    bool is_waiting = false;       // a search waits for the answer
    std::optional<Record> record;  // the directory's answer
  };

  void connect(std::uint64_t now);
  void disconnect(std::uint64_t now);
  void log_broken(int error);
  void connected(std::uint64_t now);
  void receive(std::uint64_t now);
  // Returns false if the other end is no directory.
  bool take(const DirectoryMessage& message, std::uint64_t now);
  bool greeted(const DirectoryMessage& message, std::uint64_t now);
  bool record_arrived(const DirectoryMessage& message);
  void claim_answered(const DirectoryMessage& message, std::uint64_t now);
  bool is_late_answer(const IdBytes& id);
  void renewed(std::uint32_t number, std::uint64_t now);
  void answer_waiting();
  using Questions = std::map<IdBytes, Question>;
  void forget_old_questions(std::uint64_t now);
  Questions::iterator forget(Questions::iterator question);
  void say_claim(Claim& claim, std::uint64_t now);
  void say(const DirectoryMessage& message);
  void send_all();
  [[nodiscard]] bool has_work() const { return !claims_.empty() || !questions_.empty(); }

  const sockaddr_storage address_;
  ResolverClient& client_;
  UniqueFd watch_;
  UniqueFd connection_;
  State state_ = State::kAway;
  Nonce nonce_{};
  std::vector<std::uint8_t> in_;
  std::vector<std::uint8_t> out_;
  bool is_broken_ = false;
  std::uint64_t next_ns_ = 0;   // when to connect or to renew
  std::uint64_t limit_ns_ = 0;  // when the directory's answer is late
  std::uint64_t pause_ns_ = 0;
  std::uint32_t renewals_ = 0;
  std::deque<Renewal> unanswered_;
  std::map<IdBytes, Claim> claims_;
  std::map<IdBytes, std::size_t> late_answers_;
  Questions questions_;
  LookupLog log_;
};

}  // namespace exs::svc
