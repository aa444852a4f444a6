// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/multicast.h"

#include <algorithm>
#include <array>

namespace exs::svc {
namespace {

constexpr std::array<std::uint64_t, 3> kAnnouncedAtNs = {0, 20 * kNsPerMs, 60 * kNsPerMs};
constexpr std::uint64_t kAskAgainNs = 10 * kNsPerMs;
constexpr std::uint64_t kRememberedNs = 60'000 * kNsPerMs;

DatagramNonce make_nonce() {
  DatagramNonce nonce;
  fill_random(nonce);
  return nonce;
}

}  // namespace

Multicast::Multicast(const MulticastSetting& setting, ResolverClient& client)
    : group_(setting), may_be_on_loopback_(!setting.interfaces.empty()), client_(client) {}

// ---------------------------------------------------------------- what this process says

void Multicast::claim(const IdBytes& id, const Publication& place, std::uint64_t now) {
  Claim claim{
      id, place.record, encode_publication(place, true), encode_publication(place, false), make_nonce(),
      0,  now};
  const PublicName name = public_name(id);
  claims_.erase(name);
  if (claim.outside.empty() && !may_be_on_loopback_) return;
  announce(claims_.emplace(name, std::move(claim)).first->second, now);
}

void Multicast::announce(Claim& claim, std::uint64_t now) {
  group_.refresh(now);
  for (const Interface& interface : group_.interfaces()) {
    const Bytes record = said_on(interface.index, claim);
    if (!record.empty())
      group_.send(interface, encode_sealed(DatagramType::kAnnouncement, claim.id, claim.nonce, record));
  }
  ++claim.announced;
  claim.next_ns = claim.announced == kAnnouncedAtNs.size()
                      ? kNeverNs
                      : now + kAnnouncedAtNs[claim.announced] - kAnnouncedAtNs[claim.announced - 1];
}

Bytes Multicast::said_on(unsigned interface, const Claim& claim) const {
  const std::vector<Interface>& all = group_.interfaces();
  const bool is_on_loopback = std::any_of(all.begin(), all.end(), [interface](const Interface& one) {
    return one.index == interface && one.is_loopback;
  });
  return is_on_loopback ? claim.on_loopback : claim.outside;
}

// The number stays the same while the service is asked for, so a late answer still matches.
void Multicast::ask(const IdBytes& id, std::uint64_t now) {
  group_.refresh(now);
  forget_old_questions(now);
  const PublicName name = public_name(id);
  auto known = questions_.find(name);
  if (known == questions_.end()) known = questions_.emplace(name, Question{id, make_nonce(), {}, {}}).first;
  // A recent question has its answer on the way.
  if (known->second.asked_ns && time_left(now, *known->second.asked_ns) < kAskAgainNs) return;
  known->second.asked_ns = now;
  const std::vector<std::uint8_t> query = encode_query(name, known->second.nonce);
  for (const Interface& interface : group_.interfaces()) group_.send(interface, query);
}

void Multicast::forget_old_questions(std::uint64_t now) {
  std::erase_if(questions_, [now](const auto& one) {
    return time_left(now, one.second.asked_ns.value_or(now)) > kRememberedNs;
  });
  if (questions_.size() < kQuestionsMax) return;
  questions_.erase(std::min_element(
      questions_.begin(), questions_.end(),
      [](const auto& one, const auto& other) { return one.second.asked_ns < other.second.asked_ns; }));
}

// ---------------------------------------------------------------- what others say

void Multicast::step(std::uint64_t now) {
  group_.receive(now, [&](const Group::Arrival& arrival) { take(arrival, now); });
  for (auto& [name, claim] : claims_)
    if (now >= claim.next_ns) announce(claim, now);
}

std::uint64_t Multicast::next_time() const {
  std::uint64_t time = group_.next_time();
  for (const auto& [name, claim] : claims_) time = std::min(time, claim.next_ns);
  return time;
}

void Multicast::take(const Group::Arrival& arrival, std::uint64_t now) {
  const std::optional<Datagram> datagram = decode_datagram(arrival.bytes);
  if (!datagram) return;
  if (datagram->type == DatagramType::kQuery) return query_arrived(arrival, *datagram, now);
  record_arrived(arrival, *datagram, now);
}

void Multicast::query_arrived(const Group::Arrival& arrival, const Datagram& datagram, std::uint64_t now) {
  const auto claim = claims_.find(datagram.name);
  if (claim == claims_.end()) return;
  answer(arrival, datagram, claim->second.id, said_on(arrival.interface, claim->second), now);
}

void Multicast::answer(const Group::Arrival& arrival, const Datagram& datagram, const IdBytes& id,
                       Bytes record, std::uint64_t now) {
  if (record.empty() || !rate_.allows(arrival.from, now)) return;
  group_.send(arrival.from, arrival.interface,
              encode_sealed(DatagramType::kAnswer, id, datagram.nonce, record));
}

// A datagram matches a question or a claim by its number. An announcement goes to all and needs no match.
void Multicast::record_arrived(const Group::Arrival& arrival, const Datagram& datagram, std::uint64_t now) {
  const bool is_to_all = datagram.type == DatagramType::kAnnouncement;
  const auto claim = claims_.find(datagram.name);
  const auto question = questions_.find(datagram.name);
  const bool is_about_claim = claim != claims_.end() && !said_on(arrival.interface, claim->second).empty() &&
                              (is_to_all || claim->second.nonce == datagram.nonce);
  const bool is_about_question =
      question != questions_.end() && (is_to_all || question->second.nonce == datagram.nonce);
  if (!is_about_claim && !is_about_question) return;
  const IdBytes id = is_about_claim ? claim->second.id : question->second.id;
  std::optional<OpenedRecord> opened = open_record(datagram, id);
  if (!opened) return;
  const Record record = opened->record;
  // The announcer of an older record gets the newer one once: that of our claim, or of our question.
  Bytes newer;
  if (is_about_claim && is_newer(claim->second.record, record))
    newer = said_on(arrival.interface, claim->second);
  const bool is_overtaken = is_about_claim && is_newer(record, claim->second.record);
  if (is_about_question) {
    std::optional<OpenedRecord>& newest = question->second.newest;
    if (newest && is_newer(newest->record, record)) {
      newer = newest->bytes;
    } else {
      newest = std::move(opened);
      client_.found(*this, id, record);
    }
  }
  if (is_to_all) answer(arrival, datagram, id, newer, now);
  if (is_overtaken) client_.overtaken(id, record);
}

}  // namespace exs::svc
