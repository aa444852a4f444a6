// The resolver by multicast for services of the same link: a query goes to all, and the owner of the service answers. FORMAT.md has the
// datagrams.
//
// Design notes
//  1. A service is announced where its addresses can be reached: loopback addresses on loopback alone.
//  2. Anybody may keep an old record and replay it. The newest record of each service in question is remembered for a while, and older
//     ones are not accepted as answers. The announcer of an older record is sent the newer one.
//  3. Datagrams get lost, so claims are announced three times. Searches repeat their own questions.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>

#include "service/names/answer_rate.h"
#include "service/names/group.h"
#include "service/names/resolver.h"

namespace exs::svc {

class Multicast final : public Resolver {
 public:
  static constexpr std::size_t kQuestionsMax = 1024;

  // `client` outlives this object.
  Multicast(const MulticastSetting& setting, ResolverClient& client);

  void claim(const IdBytes& id, const Publication& place, std::uint64_t now) override;
  void unclaim(const IdBytes& id) override { claims_.erase(public_name(id)); }
  [[nodiscard]] std::string name() const override { return "multicast"; }
  void ask(const IdBytes& id, std::uint64_t now) override;
  void step(std::uint64_t now) override;
  [[nodiscard]] int descriptor() const override { return group_.descriptor(); }
  [[nodiscard]] std::uint64_t next_time() const override;
  [[nodiscard]] std::size_t questions() const noexcept { return questions_.size(); }

 private:
  struct Claim {
    IdBytes id{};
    Record record;
    std::vector<std::uint8_t>
        on_loopback;  // records to send on loopback and on other interfaces; empty: none
    std::vector<std::uint8_t> outside;
    DatagramNonce nonce{};  // number of its announcements
    std::size_t announced = 0;
    std::uint64_t next_ns = 0;
  };
  struct Question {
    IdBytes id{};
    DatagramNonce nonce{};
    std::optional<std::uint64_t> asked_ns;
    std::optional<OpenedRecord> newest;
  };

  void announce(Claim& claim, std::uint64_t now);
  void forget_old_questions(std::uint64_t now);
  void take(const Group::Arrival& arrival, std::uint64_t now);
  void query_arrived(const Group::Arrival& arrival, const Datagram& datagram, std::uint64_t now);
  void record_arrived(const Group::Arrival& arrival, const Datagram& datagram, std::uint64_t now);
  void answer(const Group::Arrival& arrival, const Datagram& datagram, const IdBytes& id, Bytes record,
              std::uint64_t now);
  [[nodiscard]] Bytes said_on(unsigned interface, const Claim& claim) const;

  Group group_;
  const bool may_be_on_loopback_;  // from the setting
  ResolverClient& client_;
  AnswerRate rate_;
  std::map<PublicName, Claim> claims_;
  std::map<PublicName, Question> questions_;
};

}  // namespace exs::svc
