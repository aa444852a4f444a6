// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/name_service.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <system_error>

#include "base/contain.h"
#include "base/kernel.h"
#include "base/no_signals.h"
#include "service/names/address.h"
#include "service/names/directory.h"
#include "service/names/multicast.h"

namespace exs::svc {
namespace {

constexpr std::uint64_t kFirstSearchAgainNs = 20 * kNsPerMs;
constexpr std::uint64_t kQuestionNs = 2000 * kNsPerMs;  // from a connection to its question
constexpr std::uint64_t kNoDescriptorNs = 100 * kNsPerMs;
constexpr std::uint64_t kYoungNs = 1000 * kNsPerMs;  // since a claim
constexpr std::size_t kQuestionsMax = 32;
constexpr std::uint64_t kLongestWaitNs = 60 * kNsPerSecond;
constexpr int kBatch = 64;

int wait_of(std::uint64_t until_ns) {
  if (until_ns == kNeverNs) return -1;
  const std::uint64_t left_ns = std::min(time_left(until_ns, boottime_ns()), kLongestWaitNs);
  return static_cast<int>((left_ns + kNsPerMs - 1) / kNsPerMs);
}

}  // namespace

// ---------------------------------------------------------------- what nodes ask for

std::shared_ptr<NameService> NameService::get() {
  struct Last {
    Mutex lock;
    std::weak_ptr<NameService> service EXS_GUARDED_BY(lock);
  };
  static Last last;
  const LockGuard guard(last.lock);
  std::shared_ptr<NameService> one = last.service.lock();
  if (one == nullptr) {
    one = std::shared_ptr<NameService>(new NameService);
    last.service = one;
  }
  return one;
}

NameService::NameService()
    : wake_(kernel::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), watch_(kernel::epoll_create1(EPOLL_CLOEXEC)) {
  if (!wake_.valid() || !watch_.valid()) throw std::system_error(errno, std::generic_category());
  if (const Status watched = watch(wake_.get()); !watched.ok())
    throw std::system_error(watched.error(), std::generic_category());
  {
    const LockGuard guard(lock_);
    ready_.reserve(kBatch);
  }
  thread_ = start_thread([this] { run(); });
}

NameService::~NameService() {
  {
    const LockGuard guard(lock_);
    ends_ = true;
  }
  wake();
  thread_.join();
}

Status NameService::claim(const IdBytes& id, std::vector<std::uint8_t> record, const Ways& ways,
                          const Key* key, Claimant claimant) {
  const LockGuard guard(lock_);
  if (claims_.contains(id)) return Status(EADDRINUSE);
  Result<UniqueFd> listener = claim_host_name(id);
  if (!listener) return listener.error();
  Claim claim;
  claim.listener = std::move(*listener);
  std::optional<Record> decoded = key == nullptr ? std::nullopt : decode_record(record, id);
  claim.record = std::move(record);
  claim.claimed_ns = boottime_ns();
  if (decoded) {
    const bool is_fenced = claimant.hold != nullptr && claimant.hold->is_fenced();
    claim.place = Publication{*key, std::move(*decoded), is_fenced};
    claim.resolvers = resolvers_of(ways);
  }
  claim.claimant = std::move(claimant);
  if (const Status watched = watch(claim.listener.get()); !watched.ok()) return watched;
  const auto made = claims_.emplace(id, std::move(claim)).first;
  try {
    for (Resolver* const resolver : made->second.resolvers)
      resolver->claim(id, *made->second.place, made->second.claimed_ns);
  } catch (const std::bad_alloc&) {
    for (Resolver* const resolver : made->second.resolvers) contain([&] { resolver->unclaim(id); }, [] {});
    claims_.erase(made);
    throw;
  }
  if (!made->second.resolvers.empty()) wake();
  return {};
}

void NameService::unclaim(const IdBytes& id) {
  const LockGuard guard(lock_);
  std::erase_if(questions_, [&](const Question& question) { return question.id == id; });
  const auto claim = claims_.find(id);
  if (claim == claims_.end()) return;
  for (Resolver* const resolver : claim->second.resolvers) contain([&] { resolver->unclaim(id); }, [] {});
  claims_.erase(claim);
}

void NameService::find(std::uint64_t search, const IdBytes& id, std::uint64_t limit_ns,
                       std::shared_ptr<Sink> sink, Ways ways) {
  const std::uint64_t now = boottime_ns();
  Search made;
  made.number = search;
  made.id = id;
  made.patience.wait_until(limit_ns, now);
  made.next_ns = now;
  made.pause_ns = kFirstSearchAgainNs;
  made.sink = std::move(sink);
  made.ways = std::move(ways);
  log_begin(made, now);
  const LockGuard guard(lock_);
  searches_.push_back(std::move(made));
  wake();
}

void NameService::ring_at(std::uint64_t time_ns, const std::shared_ptr<Sink>& sink) {
  const LockGuard guard(lock_);
  std::uint64_t& before = rings_[sink].alarm_ns;
  const bool is_earlier = time_ns < before;
  before = time_ns;
  if (is_earlier) wake();
}

void NameService::forget(const std::shared_ptr<Sink>& sink) {
  const LockGuard guard(lock_);
  std::erase_if(searches_, [&](const Search& search) { return search.sink == sink; });
  rings_.erase(sink);
}

void NameService::wake() {
  const std::uint64_t one = 1;
  static_cast<void>(kernel::write(wake_.get(), &one, sizeof one));
}

// ---------------------------------------------------------------- its thread

void NameService::run() {
  const LockGuard guard(lock_);
  while (!ends_) {
    sleep_until(next_time());
    try {
      do_what_is_due();
    } catch (const std::bad_alloc&) {
      // The asking processes ask again, and the searches continue.
    }
  }
}

void NameService::do_what_is_due() {
  const std::uint64_t now = boottime_ns();
  if (accepts_ns_ != 0 && now >= accepts_ns_) set_accepting(true);
  // Questions for one name are answered before those for the next can displace them.
  for (const auto& [id, claim] : claims_) {
    if (accepts_ns_ == 0 && is_ready(claim.listener.get())) accept_questions(id, claim.listener.get());
    answer_questions(now);
  }
  for (Resolver* const resolver : resolvers_)
    if (is_ready(resolver->descriptor()) || resolver->next_time() <= now) resolver->step(now);
  go_on(now);
}

std::uint64_t NameService::next_time() const {
  std::uint64_t time = kNeverNs;
  for (const Question& question : questions_) time = std::min(time, question.limit_ns);
  for (const Search& search : searches_) time = std::min(time, search.due_ns());
  for (const auto& [sink, rings] : rings_) time = std::min({time, rings.alarm_ns, rings.found_ns});
  for (const Resolver* const resolver : resolvers_) time = std::min(time, resolver->next_time());
  return accepts_ns_ == 0 ? time : std::min(time, accepts_ns_);
}

// Sleeps without the lock. Meanwhile a ready descriptor may be closed and its number reused. That is harmless, as none of the calls that
// follow blocks.
void NameService::sleep_until(std::uint64_t until_ns) {
  std::array<epoll_event, kBatch> events;
  lock_.unlock();
  const int count = kernel::epoll_wait(watch_.get(), events.data(), kBatch, wait_of(until_ns));
  std::uint64_t wakes = 0;
  static_cast<void>(kernel::read(wake_.get(), &wakes, sizeof wakes));
  lock_.lock();
  ready_.clear();
  for (int i = 0; i < count; ++i) ready_.push_back(events[static_cast<std::size_t>(i)].data.fd);
}

Status NameService::watch(int descriptor) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  return kernel_status(kernel::epoll_ctl(watch_.get(), EPOLL_CTL_ADD, descriptor, &event));
}

// While no descriptor is left for it, a connection stays in the backlog. It would end every sleep at once.
void NameService::set_accepting(bool accepts) {
  accepts_ns_ = accepts ? 0 : time_after(boottime_ns(), kNoDescriptorNs);
  for (const auto& [id, claim] : claims_) {
    epoll_event event{};
    event.events = accepts ? std::uint32_t{EPOLLIN} : 0U;
    event.data.fd = claim.listener.get();
    kernel::epoll_ctl(watch_.get(), EPOLL_CTL_MOD, claim.listener.get(), &event);
  }
}

bool NameService::is_ready(int descriptor) const {
  return descriptor >= 0 && std::find(ready_.begin(), ready_.end(), descriptor) != ready_.end();
}

void NameService::accept_questions(const IdBytes& id, int listener) {
  for (std::size_t i = 0; i < kQuestionsMax; ++i) {
    UniqueFd connection(kernel::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.valid()) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) set_accepting(false);
      return;
    }
    // An honest client asks at once, so the oldest silent connection has to go.
    if (questions_.size() == kQuestionsMax) questions_.erase(questions_.begin());
    if (!watch(connection.get()).ok()) continue;  // its end asks again
    ready_.push_back(connection.get());           // the question is usually there already
    questions_.push_back({id, std::move(connection), time_after(boottime_ns(), kQuestionNs)});
  }
}

void NameService::answer_questions(std::uint64_t now) {
  std::erase_if(questions_, [&](const Question& question) EXS_REQUIRES(lock_) {
    const auto claim = claims_.find(question.id);
    if (claim == claims_.end() || now >= question.limit_ns) return true;
    return is_ready(question.connection.get()) &&
           answer_host_question(question.connection.get(), question.id, claim->second.record);
  });
}

// ---------------------------------------------------------------- beyond this host

// If no descriptor is left for the resolver, the search does without it. The next search tries again.
template <class Setting, class Make>
Resolver* NameService::get_or_make(Made<Setting>& made, const Setting& setting, Make make) {
  const auto known =
      std::find_if(made.begin(), made.end(), [&](const auto& one) { return one.first == setting; });
  if (known != made.end()) return known->second.get();
  resolvers_.reserve(resolvers_.size() + 1);
  try {
    made.emplace_back(setting, make());
  } catch (const std::system_error&) {
    return nullptr;
  }
  Resolver* const resolver = made.back().second.get();
  if (!watch(resolver->descriptor()).ok()) {
    made.pop_back();
    return nullptr;
  }
  resolvers_.push_back(resolver);
  return resolver;
}

std::vector<Resolver*> NameService::resolvers_of(const Ways& ways) {
  std::vector<Resolver*> resolvers;
  ResolverClient& client = *this;
  if (ways.directory)
    resolvers.push_back(get_or_make(directories_, key_of(*ways.directory),
                                    [&] { return std::make_unique<Directory>(*ways.directory, client); }));
  if (ways.multicast)
    resolvers.push_back(get_or_make(multicasts_, *ways.multicast,
                                    [&] { return std::make_unique<Multicast>(*ways.multicast, client); }));
  std::erase(resolvers, nullptr);
  return resolvers;
}

void NameService::found(const Resolver& by, const IdBytes& id, const Record& record) {
  lock_.assert_held();  // resolvers run in step() alone
  for (auto search = searches_.begin(); search != searches_.end();) {
    const std::vector<Resolver*> resolvers = resolvers_of(search->ways);
    const bool is_for_it =
        search->id == id && std::find(resolvers.begin(), resolvers.end(), &by) != resolvers.end();
    if (is_for_it) {
      log_found(*search, by.name(), record.addresses);
      end(*search, record, record.addresses);
    }
    search = is_for_it ? searches_.erase(search) : search + 1;
  }
}

namespace {

// The service is fenced and has had a lease.
bool is_settled(const Claimant& claimant) {
  return claimant.hold != nullptr && claimant.hold->is_fenced() && claimant.hold->was_granted();
}

}  // namespace

void NameService::overtaken(const IdBytes& id, const Record& newer) {
  lock_.assert_held();  // resolvers run in step() alone
  const auto claim = claims_.find(id);
  if (claim == claims_.end()) return;
  const bool is_young = boottime_ns() - claim->second.claimed_ns <= kYoungNs;
  if (is_young && !is_settled(claim->second.claimant)) return raise_epoch(id, claim->second, newer);
  lose(id, claim->second);
}

void NameService::outdated(const IdBytes& id, const Record& newer) {
  lock_.assert_held();  // resolvers run in step() alone
  const auto claim = claims_.find(id);
  if (claim == claims_.end()) return;
  const bool is_anothers = newer.instance != claim->second.place->record.instance;
  if (is_anothers && is_settled(claim->second.claimant)) return lose(id, claim->second);
  raise_epoch(id, claim->second, newer);
}

void NameService::held(const IdBytes& id, std::uint64_t until_ns) {
  lock_.assert_held();  // resolvers run in step() alone
  const auto claim = claims_.find(id);
  if (claim == claims_.end() || claim->second.claimant.hold == nullptr) return;
  Hold& hold = *claim->second.claimant.hold;
  const bool served = hold.may_serve(boottime_ns());
  hold.extend(until_ns);
  if (!served) ring(claim->second.claimant);
}

void NameService::raise_epoch(const IdBytes& id, Claim& ours, const Record& newer) {
  if (newer.epoch == UINT64_MAX) return;
  ours.place->record.epoch = newer.epoch + 1;
  ours.record = encode_record(ours.place->record, ours.place->key);
  if (ours.claimant.hold != nullptr) ours.claimant.hold->raise(ours.place->record.epoch);
  for (Resolver* const resolver : ours.resolvers) resolver->claim(id, *ours.place, boottime_ns());
}

void NameService::lose(const IdBytes& id, Claim& ours) {
  const Claimant& claimant = ours.claimant;
  if (claimant.hold != nullptr) claimant.hold->lose();
  ring(claimant);
  if (ours.place->is_fenced) return;
  for (Resolver* const resolver : ours.resolvers) resolver->unclaim(id);
  ours.resolvers.clear();
}

void NameService::ring(const Claimant& claimant) {
  if (claimant.sink != nullptr) rings_[claimant.sink].found_ns = 0;
}

}  // namespace exs::svc
