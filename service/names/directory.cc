// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/directory.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "service/names/address.h"

namespace exs::svc {
namespace {

constexpr std::uint64_t kRenewNs = 150 * kNsPerMs;
constexpr std::uint64_t kFirstConnectAgainNs = 50 * kNsPerMs;
constexpr std::uint64_t kLastConnectAgainNs = 800 * kNsPerMs;
constexpr std::uint64_t kRememberedNs = 60'000 * kNsPerMs;

}  // namespace

Directory::Directory(const sockaddr_storage& address, ResolverClient& client)
    : address_(address),
      client_(client),
      watch_(kernel::epoll_create1(EPOLL_CLOEXEC)),
      pause_ns_(kFirstConnectAgainNs) {
  if (!watch_.valid()) throw std::system_error(errno, std::generic_category());
}

std::string Directory::name() const {
  return "the directory at " + text_of(address_);
}

// ---------------------------------------------------------------- what this process says

// A loopback address is of use only to processes that reach the directory by loopback, too.
void Directory::claim(const IdBytes& id, const Publication& place, std::uint64_t now) {
  std::vector<std::uint8_t> record = encode_publication(place, is_loopback(address_));
  const auto known = claims_.find(id);
  Lease lease = known == claims_.end() ? Lease() : std::move(known->second.lease);
  claims_.erase(id);
  if (record.empty()) return;
  Claim& claim = claims_.emplace(id, Claim{place, std::move(record), std::move(lease)}).first->second;
  if (state_ == State::kOpen) say_claim(claim, now);
}

void Directory::unclaim(const IdBytes& id) {
  const auto claim = claims_.find(id);
  if (claim == claims_.end()) return;
  if (claim->second.lease.unanswered() > 0) late_answers_[id] += claim->second.lease.unanswered();
  claims_.erase(claim);
  if (state_ == State::kOpen) say({.type = DirectoryType::kRelease, .id = id});
}

void Directory::ask(const IdBytes& id, std::uint64_t now) {
  const bool is_new = !questions_.contains(id);
  Question& question = questions_[id];
  question.asked_ns = now;
  question.is_waiting = true;
  forget_old_questions(now);
  if (is_new && state_ == State::kOpen) say({.type = DirectoryType::kWatch, .id = id});
}

void Directory::say_claim(Claim& claim, std::uint64_t now) {
  claim.lease.claim_sent(now);
  say({.type = DirectoryType::kClaim,
       .is_fenced = claim.place.is_fenced,
       .number = Lease::kLeaseMs,
       .signature = claim.place.key.sign(claim_statement(nonce_, claim.record)),
       .record = claim.record});
}

void Directory::say(const DirectoryMessage& message) {
  append_directory(out_, message);
  send_all();
}

void Directory::send_all() {
  if (out_.empty()) return;
  const ssize_t count = kernel::send(connection_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
  if (count > 0) out_.erase(out_.begin(), out_.begin() + count);
  if (count < 0 && errno != EAGAIN && errno != EINTR) is_broken_ = true;
  epoll_event event{};
  event.events = out_.empty() ? std::uint32_t{EPOLLIN} : std::uint32_t{EPOLLIN} | std::uint32_t{EPOLLOUT};
  kernel::epoll_ctl(watch_.get(), EPOLL_CTL_MOD, connection_.get(), &event);
}

void Directory::forget_old_questions(std::uint64_t now) {
  for (auto question = questions_.begin(); question != questions_.end();)
    question = now - question->second.asked_ns > kRememberedNs ? forget(question) : std::next(question);
  if (questions_.size() <= kQuestionsMax) return;
  forget(std::min_element(questions_.begin(), questions_.end(), [](const auto& one, const auto& other) {
    return one.second.asked_ns < other.second.asked_ns;
  }));
}

Directory::Questions::iterator Directory::forget(Questions::iterator question) {
  if (state_ == State::kOpen) say({.type = DirectoryType::kUnwatch, .id = question->first});
  return questions_.erase(question);
}

// ---------------------------------------------------------------- the connection

void Directory::step(std::uint64_t now) {
  if (state_ == State::kAway && has_work() && now >= next_ns_) connect(now);
  if (state_ != State::kAway) receive(now);
  if (state_ != State::kAway && !is_broken_ && now >= limit_ns_) log_broken(ETIMEDOUT);
  if (state_ != State::kAway && (is_broken_ || now >= limit_ns_)) disconnect(now);
  if (state_ == State::kOpen && now >= next_ns_) {
    forget_old_questions(now);
    if (!has_work()) return disconnect(now);
    next_ns_ = time_after(now, kRenewNs);
    unanswered_.push_back({++renewals_, now});
    say({.type = DirectoryType::kRenew, .number = renewals_});
  }
  answer_waiting();
}

std::uint64_t Directory::next_time() const {
  const bool is_waiting = std::any_of(questions_.begin(), questions_.end(), [](const auto& one) {
    return one.second.is_waiting && one.second.record;
  });
  if (is_waiting || is_broken_) return 0;
  if (state_ == State::kAway) return has_work() ? next_ns_ : kNeverNs;
  return state_ == State::kOpen ? std::min(next_ns_, limit_ns_) : limit_ns_;
}

void Directory::connect(std::uint64_t now) {
  next_ns_ = time_after(now, pause_ns_);
  limit_ns_ = time_after(now, Lease::kLeaseNs);
  pause_ns_ = std::min(2 * pause_ns_, kLastConnectAgainNs);
  UniqueFd made(kernel::socket(address_.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.valid()) return log_broken(errno);
  const int at_once = 1;
  kernel::setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  if (kernel::connect(made.get(), as_sockaddr(address_), address_bytes(address_)) != 0 &&
      errno != EINPROGRESS)
    return log_broken(errno);
  epoll_event event{};
  event.events = EPOLLOUT;
  if (kernel::epoll_ctl(watch_.get(), EPOLL_CTL_ADD, made.get(), &event) != 0) return;
  connection_ = std::move(made);
  state_ = State::kConnecting;
}

// `error` is an errno value; 0: the other end closed the connection.
void Directory::log_broken(int error) {
  log_.say(name(), [&]() -> std::string {
    if (error == ETIMEDOUT) return "it does not answer";
    return error == 0 ? "it has closed the connection" : std::strerror(error);
  });
}

void Directory::disconnect(std::uint64_t now) {
  connection_.reset();
  state_ = State::kAway;
  is_broken_ = false;
  in_.clear();
  out_.clear();
  next_ns_ = time_after(now, pause_ns_);
  unanswered_.clear();
  late_answers_.clear();
  for (auto& [id, claim] : claims_) claim.lease.disconnected();
  for (auto& [id, question] : questions_) question.record.reset();
}

void Directory::receive(std::uint64_t now) {
  if (state_ == State::kConnecting) {
    epoll_event event{};
    if (kernel::epoll_wait(watch_.get(), &event, 1, 0) != 1) return;
    if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) {
      int error = 0;
      socklen_t length = sizeof error;
      kernel::getsockopt(connection_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
      log_broken(error);
      is_broken_ = true;
      return;
    }
    state_ = State::kGreeting;
    say({.type = DirectoryType::kGreeting});
  }
  send_all();
  std::array<std::uint8_t, 16'384> bytes;
  const ssize_t count = kernel::recv(connection_.get(), bytes.data(), bytes.size(), 0);
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
    log_broken(count == 0 ? 0 : errno);
    is_broken_ = true;
  }
  if (count <= 0) return;
  in_.insert(in_.end(), bytes.begin(), bytes.begin() + count);
  Bytes left(in_);
  while (!is_broken_) {
    const std::optional<std::size_t> length = directory_message_bytes(left);
    if (length && *length == 0) break;
    const auto message = length ? decode_directory(left.first(*length)) : std::nullopt;
    is_broken_ = !message || !take(*message, now);
    if (!is_broken_) left = left.subspan(*length);
  }
  in_.erase(in_.begin(), in_.end() - static_cast<std::ptrdiff_t>(left.size()));
}

// ---------------------------------------------------------------- what the directory says

bool Directory::take(const DirectoryMessage& message, std::uint64_t now) {
  if (state_ == State::kGreeting) return greeted(message, now);
  switch (message.type) {
    case DirectoryType::kRenewed: renewed(message.number, now); return true;
    case DirectoryType::kNobody:
      log_.say(message.id, [&] { return name() + " knows nobody who is it"; });
      if (const auto question = questions_.find(message.id); question != questions_.end())
        question->second.record.reset();
      return true;
    case DirectoryType::kRecord:
    case DirectoryType::kOvertaken:
    case DirectoryType::kOutdated:
    case DirectoryType::kWanted: return record_arrived(message);
    case DirectoryType::kHeld:
    case DirectoryType::kNoRoom:
    case DirectoryType::kWait: claim_answered(message, now); return true;
    default: return false;
  }
}

bool Directory::greeted(const DirectoryMessage& message, std::uint64_t now) {
  if (message.type != DirectoryType::kGreeting) return false;
  state_ = State::kOpen;
  log_.forget();
  log_.say(name(), [] { return std::string("connected"); });
  nonce_ = message.nonce;
  pause_ns_ = kFirstConnectAgainNs;
  next_ns_ = now;
  limit_ns_ = time_after(now, Lease::kLeaseNs);
  for (auto& [id, claim] : claims_)
    if (!claim.is_over) say_claim(claim, now);
  for (const auto& [id, question] : questions_) say({.type = DirectoryType::kWatch, .id = id});
  return true;
}

bool Directory::record_arrived(const DirectoryMessage& message) {
  std::optional<Record> record = decode_record(message.record);
  if (!record) return false;
  const IdBytes id = id_of(record->key);
  if (message.type == DirectoryType::kRecord) {
    const auto question = questions_.find(id);
    if (question == questions_.end()) return true;
    question->second.record = std::move(record);
    question->second.is_waiting = true;
    return true;
  }
  if (message.type != DirectoryType::kWanted && is_late_answer(id)) return true;
  const auto claim = claims_.find(id);
  if (claim == claims_.end()) return true;
  if (message.type != DirectoryType::kWanted) claim->second.lease.denied(false);
  if (!is_newer(*record, claim->second.place.record)) return true;
  claim->second.is_over = true;
  if (message.type == DirectoryType::kOutdated || record->instance == claim->second.place.record.instance) {
    client_.outdated(id, *record);
  } else {
    client_.overtaken(id, *record);
  }
  return true;
}

// The answer belongs to a claim that has been given back, perhaps before the current one.
bool Directory::is_late_answer(const IdBytes& id) {
  const auto late = late_answers_.find(id);
  if (late == late_answers_.end()) return false;
  if (--late->second == 0) late_answers_.erase(late);
  return true;
}

void Directory::claim_answered(const DirectoryMessage& message, std::uint64_t now) {
  const auto claim = claims_.find(message.id);
  if (is_late_answer(message.id) || claim == claims_.end()) return;
  Lease& lease = claim->second.lease;
  if (message.type != DirectoryType::kHeld) return lease.denied(message.type == DirectoryType::kWait);
  lease.granted(now);
  if (lease.is_held()) client_.held(message.id, lease.serves_until());
}

void Directory::renewed(std::uint32_t number, std::uint64_t now) {
  if (number == renewals_) limit_ns_ = time_after(now, Lease::kLeaseNs);
  while (!unanswered_.empty() && unanswered_.front().number < number) unanswered_.pop_front();
  if (unanswered_.empty() || unanswered_.front().number != number) return;
  for (auto& [id, claim] : claims_) {
    if (claim.is_over) continue;
    claim.lease.renewed(unanswered_.front().sent_ns, now);
    if (claim.lease.is_held()) {
      client_.held(id, claim.lease.serves_until());
    } else if (claim.lease.unanswered() == 0 && (claim.place.is_fenced || claim.lease.asks_again())) {
      say_claim(claim, now);
    }
  }
  unanswered_.pop_front();
}

// Answers also the searches that asked before the directory had an answer.
void Directory::answer_waiting() {
  for (auto& [id, question] : questions_) {
    if (!question.is_waiting || !question.record) continue;
    question.is_waiting = false;
    client_.found(*this, id, *question.record);
  }
}

}  // namespace exs::svc
