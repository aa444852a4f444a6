// Services that a directory knows of (exs-directory(1)), by one connection to it, while there is something to tell or to ask.
// FORMAT.md has what is said.
//
// Design notes
//  1. The directory is not trusted: records prove themselves. It can deny, and nothing else.
//  2. What is claimed is renewed every 150 ms, and held for 600 ms more. A directory that does not answer for as long is away: then
//     the connection is made anew, again and again, and everything is claimed and asked for on it.
//  3. Of a service that is fenced, the directory says how long nobody else is it (lease.h). One that is to wait is claimed again with
//     each renewal.
//  4. A question is watched for a minute, so that a service that is claimed later is found at once.
#pragma once

#include <deque>
#include <map>

#include "service/names/descriptor.h"
#include "service/names/directory_wire.h"
#include "service/names/lease.h"
#include "service/names/lookup_log.h"
#include "service/names/resolver.h"

namespace exs::svc {

class Directory final : public Resolver {
 public:
  static constexpr std::size_t kQuestionsMax = 1024;

  // The client outlives it. Throws std::system_error: no more descriptors.
  Directory(const sockaddr_storage& address, ResolverClient& client);

  void claim(const IdBytes& id, const Place& place, std::int64_t now) override;
  void unclaim(const IdBytes& id) override;
  [[nodiscard]] std::string name() const override;
  void ask(const IdBytes& id, std::int64_t now) override;
  void step(std::int64_t now) override;
  [[nodiscard]] bool is_open() const noexcept { return state_ == State::kOpen; }
  [[nodiscard]] int descriptor() const override { return watch_.get(); }
  [[nodiscard]] std::int64_t next_time() const override;

 private:
  enum class State { kAway, kConnecting, kGreeting, kOpen };
  struct Claim {
    Place place;
    std::vector<std::uint8_t> record;
    Lease lease;
    bool is_over = false;  // somebody else has it, or is to have it
  };
  struct Renewal {
    std::uint32_t number = 0;
    std::int64_t sent_ns = 0;
  };
  struct Question {
    std::int64_t asked_ns = 0;
    bool is_waiting = false;       // since it was asked last
    std::optional<Record> record;  // as the directory says
  };

  void connect(std::int64_t now);
  void disconnect(std::int64_t now);
  void say_broken(int error);
  void connected(std::int64_t now);
  void receive(std::int64_t now);
  // False: it is no directory.
  bool take(const DirectoryMessage& message, std::int64_t now);
  bool greeted(const DirectoryMessage& message, std::int64_t now);
  bool record_arrived(const DirectoryMessage& message);
  void claim_answered(const DirectoryMessage& message, std::int64_t now);
  bool is_late_answer(const IdBytes& id);
  void renewed(std::uint32_t number, std::int64_t now);
  void answer_waiting();
  using Questions = std::map<IdBytes, Question>;
  void forget_old_questions(std::int64_t now);
  Questions::iterator forget(Questions::iterator question);
  void say_claim(Claim& claim, std::int64_t now);
  void say(const DirectoryMessage& message);
  void send_all();
  [[nodiscard]] bool has_work() const { return !claims_.empty() || !questions_.empty(); }

  const sockaddr_storage address_;
  ResolverClient& client_;
  Descriptor watch_;
  Descriptor connection_;
  State state_ = State::kAway;
  Nonce nonce_{};
  std::vector<std::uint8_t> in_;
  std::vector<std::uint8_t> out_;
  bool is_broken_ = false;
  std::int64_t next_ns_ = 0;   // to connect, or to renew
  std::int64_t limit_ns_ = 0;  // by when it is to have answered
  std::int64_t pause_ns_ = 0;
  std::uint32_t renewals_ = 0;
  std::deque<Renewal> unanswered_;
  std::map<IdBytes, Claim> claims_;
  std::map<IdBytes, std::size_t> late_answers_;
  Questions questions_;
  LookupLog log_;
};

}  // namespace exs::svc
