#include "event/engine/shard.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "event/engine/engine.h"
#include "src/base/kernel.h"
#include "src/proto/connection.h"

namespace exs {
namespace {

// Who has not looked at the network for so long does something else.
constexpr std::uint64_t kLateNs = 100'000;
// How long a port counts as busy, and how often a silent one is looked at meanwhile.
constexpr std::uint64_t kStillBusyNs = 50'000;
constexpr std::uint64_t kGlanceNs = 5'000;
constexpr int kLooksMax = 4;
constexpr unsigned kGlancesPerLook = 8;
// More clients than a process can have descriptors; the rest of a token never comes round.
constexpr int kClientPlaceBits = 24;

}  // namespace

std::uint64_t deadline_after(std::uint64_t ns) {
  const std::uint64_t now_ns = monotonic_ns();
  return ns > kNoDeadline - now_ns ? kNoDeadline : now_ns + ns;
}

Result<std::shared_ptr<Shard>> Shard::create(ProviderSet& providers) {
  UniqueFd wake_fd(kernel::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  UniqueFd alarm_fd(kernel::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!wake_fd.valid() || !alarm_fd.valid()) return failure(errno);
  std::shared_ptr<Shard> shard(new Shard(providers, std::move(wake_fd)));
  shard->engine_ = std::make_unique<Engine>(*shard, std::move(alarm_fd));
  if (const Status status = shard->open_ports(); !status.ok()) return failure(status);
  return shard;
}

Shard::Shard(ProviderSet& providers, UniqueFd wake_fd)
    : providers_(providers), wake_fd_(std::move(wake_fd)) {}

// The network's must open, if there is one; without the others connections take another way.
Status Shard::open_ports() {
  for (const Role role : kRoles) {
    const Status status = open_port(role);
    if (!status.ok() && role == Role::kNetwork) return status;
  }
  return Status();
}

Status Shard::open_port(Role role) {
  const auto place = static_cast<std::size_t>(role);
  Provider* const provider = providers_.player(role);
  if (provider == nullptr) {
    missing_[place] = Reason::make(ReasonCode::kNotBuilt, "");
    return Status();
  }
  auto port = provider->open_port(missing_[place]);
  if (!port) return port.error();
  players_[place] = port->get();
  places_.push_back({std::move(*port)});
  return Status();
}

Shard::~Shard() {
  stop_engine();
  LockGuard guard(lock_);
  clients_.clear();
  detached_.clear();
}

Status Shard::start_engine() {
  LockGuard guard(engine_mutex_);
  if (engine_runs_) return Status();
  const Status status = engine_->start();
  engine_runs_ = status.ok();
  return status;
}

void Shard::stop_engine() {
  LockGuard guard(engine_mutex_);
  engine_->stop();
}

Port* Shard::port(Role role) {
  lock_.assert_held();
  return players_[static_cast<std::size_t>(role)];
}

// Whoever sleeps on the ports does not know of the new one.
Result<Readiness*> Shard::readiness() {
  lock_.assert_held();
  if (readiness_ != nullptr) return readiness_;
  auto opened = Readiness::open();
  if (!opened) return failure(opened.error());
  readiness_ = opened->get();
  places_.push_back({std::move(*opened)});
  if (sleepers_ > 0) {
    if (led_) wake_leader();
    engine_->wake();
  }
  return readiness_;
}

// ---------------------------------------------------------------- posting

void Shard::post(TransferClient& client, proto::Direction direction, const proto::Operation& operation) {
  if (!lock_.try_lock()) {
    submit(Command{client.shared_from_this(), direction, operation, nullptr});
    return;
  }
  run_commands();
  client.carry_out(direction, operation);
  settle();
  release_and_combine();
}

void Shard::execute(std::unique_ptr<Task> task) {
  submit(Command{nullptr, proto::Direction::kSend, {}, std::move(task)});
}

void Shard::submit(Command command) {
  commands_.push(std::move(command));
  if (!lock_.try_lock()) return;  // the holder finds it after letting go
  run_commands();
  settle();
  release_and_combine();
}

void Shard::release_and_combine() {
  bool more = true;
  while (more) {
    lock_.unlock();
    more = commands_.waiting() && lock_.try_lock();
    if (!more) return;
    run_commands();
    settle();
  }
}

void Shard::run_commands() {
  while (commands_.waiting()) {
    commands_.take(running_);
    for (Command& command : running_) run(command);
    running_.clear();
  }
}

void Shard::run(Command& command) {
  if (command.client) {
    command.client->carry_out(command.direction, command.operation);
  } else {
    command.task->run(*this);
  }
}

// ---------------------------------------------------------------- driving

void Shard::drive(std::uint64_t now_ns, const Rang& rang) {
  looked_ns_ = now_ns;
  glances_ = 0;
  run_commands();
  end_turn();
  look_at_ports(now_ns, rang);
  settle();
  if (!timers_.is_quiet(now_ns)) {
    timers_.fire(now_ns);
    settle();
  }
  keep_armed(now_ns);
}

bool Shard::is_due(const Place& place, std::uint64_t now_ns, std::uint64_t last_busy_ns) {
  if (now_ns - last_busy_ns >= kStillBusyNs || now_ns - place.busy_ns < kStillBusyNs) return true;
  return now_ns - place.looked_ns >= kGlanceNs;
}

void Shard::look_at_ports(std::uint64_t now_ns, const Rang& rang) {
  const std::uint64_t last_busy_ns = places_.size() == 1 ? 0 : busy_ns_;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    if (!rang[i] && place.port->next_deadline_ns() > now_ns) {
      [[maybe_unused]] const bool done = place.port->poll_memory(false);
    } else if (is_due(place, now_ns, last_busy_ns)) {
      place.looked_ns = now_ns;
      place.port->progress(now_ns);
    }
    note_arrivals(place, now_ns);
  }
}

void Shard::note_arrivals(Place& place, std::uint64_t now_ns) {
  const std::uint64_t arrivals = place.port->arrivals();
  if (arrivals == place.arrivals) return;
  arrivals_.store(arrivals_.load(std::memory_order_relaxed) + arrivals - place.arrivals,
                  std::memory_order_relaxed);
  place.arrivals = arrivals;
  place.busy_ns = busy_ns_ = now_ns;
}

// Who sleeps behind armed ports needs them armed again, and that may take a full look.
bool Shard::glance(const Rang& rang) {
  if (++glances_ >= kGlancesPerLook || sleepers_ > 0) return false;
  run_commands();
  end_turn();
  bool all = true;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    all = places_[i].port->poll_memory(rang[i]) && all;
    note_arrivals(places_[i], looked_ns_);
  }
  settle();
  disarm();
  return all;
}

bool Shard::arm_ports() {
  armed_ = true;
  bool quiet = true;
  for (Place& place : places_) quiet = place.port->arm() && quiet;
  return quiet;
}

// Another thread may sleep already, and this one do something else next: what a port took in meanwhile must
// not stay in it.
bool Shard::begin_sleep() {
  const bool quiet = arm_ports();
  if (quiet) {
    ++sleepers_;
  } else {
    settle();
  }
  return quiet;
}

void Shard::disarm() {
  if (!armed_) return;
  armed_ = false;
  for (Place& place : places_) place.port->disarm();
}

void Shard::keep_armed(std::uint64_t now_ns) {
  if (sleepers_ == 0) return disarm();
  if (!armed_) return;
  for (int look = 0; look < kLooksMax; ++look) {
    if (arm_ports()) return;
    look_at_ports(now_ns, Rang().set());
    settle();
  }
  // So much arrives that nobody should sleep.
  if (led_) wake_leader();
  engine_->wake();
}

nfds_t Shard::watched_fds(WatchedFds& into, int last) const {
  nfds_t count = 0;
  for (const Place& place : places_) into[count++] = {place.port->wait_fd(), POLLIN, 0};
  into[count++] = {last, POLLIN, 0};
  return count;
}

Rang Shard::rang_among(const WatchedFds& watched, nfds_t count) {
  Rang rang;
  for (nfds_t i = 0; i + 1 < count; ++i) rang[i] = watched[i].revents != 0;
  return rang;
}

// Until nothing follows from anything any more. Ends, because no new input is taken from the network here.
void Shard::settle() {
  while (take_completions()) continue;
  remains_.clear();
  detached_.clear();
}

bool Shard::take_completions() {
  bool some = false;
  for (Place& place : places_) {
    place.port->flush();
    const std::size_t count = place.port->poll(completions_);
    for (std::size_t i = 0; i < count; ++i) {
      // Held by the shard, also when it detaches itself meanwhile.
      const Client* const found = client_of(completions_[i].link);
      if (found != nullptr) found->client.get()->complete(completions_[i]);
    }
    some = some || count > 0;
  }
  return some;
}

std::uint64_t Shard::next_deadline_ns() {
  std::uint64_t deadline_ns = timers_.next_deadline_ns();
  for (const Place& place : places_) deadline_ns = std::min(deadline_ns, place.port->next_deadline_ns());
  return deadline_ns;
}

void Shard::drive_as_waiter(std::uint64_t now_ns, bool counts, const Rang& rang) {
  if (!lock_.try_lock()) return;
  if (counts) {
    waiter_drives_.store(waiter_drives_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    engine_->waiter_drives(now_ns);
  }
  late_ = false;
  drive(now_ns, rang);
  release_and_combine();
}

bool Shard::glance_as_waiter(bool counts, const Rang& rang) {
  if (!lock_.try_lock()) return false;
  if (counts)
    waiter_glances_.store(waiter_glances_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const bool done = glance(rang);
  if (done) late_ = false;
  release_and_combine();
  return done;
}

// ---------------------------------------------------------------- turns

void Shard::join_turn(TurnClient& client) {
  lock_.assert_held();
  in_turn_.push_back(&client);
}

void Shard::leave_turn(TurnClient& client) {
  lock_.assert_held();
  std::erase(in_turn_, &client);
  std::replace(turn_ends_.begin(), turn_ends_.end(), &client, static_cast<TurnClient*>(nullptr));
}

void Shard::bytes_held() {
  lock_.assert_held();
  if (held_.load(std::memory_order_relaxed)) return;
  held_ = true;
  engine_->turn_must_end(late_);
}

std::uint64_t Shard::looked_ns() {
  lock_.assert_held();
  return looked_ns_;
}

void Shard::end_turn() {
  if (in_turn_.empty()) return;
  held_ = false;
  turn_ends_.swap(in_turn_);
  for (std::size_t i = 0; i < turn_ends_.size(); ++i) {
    if (turn_ends_[i] != nullptr) turn_ends_[i]->turn_ended();
  }
  turn_ends_.clear();
  for (Place& place : places_) place.port->flush();
}

void Shard::end_overdue_turn() {
  if (!held_) return;
  lock_.lock();
  late_ = monotonic_ns() - looked_ns_ >= kLateNs;
  end_turn();
  settle();
  release_and_combine();
}

// ---------------------------------------------------------------- leading

bool Shard::try_lead() {
  return !led_.exchange(true);
}

Status Shard::sleep_as_leader(WaitLimit& limit, const sigset_t* signals, Rang& rang) {
  rang.set();
  lock_.lock();
  const bool armed = begin_sleep();
  glances_ = 0;
  const std::uint64_t due_ns = next_deadline_ns();
  sleeping_until_ns_ = due_ns;
  WatchedFds watched;
  const nfds_t count = watched_fds(watched, wake_fd_.get());
  release_and_combine();
  if (!armed) return Status();  // the caller looks again

  const std::uint64_t now_ns = due_ns != kNoDeadline || limit.is_moment() ? monotonic_ns() : 0;
  const std::uint64_t due_in_ns = WaitLimit::until(due_ns).left_ns(now_ns);
  const std::uint64_t asked_ns = std::min(due_in_ns, limit.left_ns(now_ns));
  timespec left = to_timespec(asked_ns);
  const int ready = kernel::ppoll(watched.data(), count, asked_ns == kNoDeadline ? nullptr : &left, signals);
  const int error = errno;
  --sleepers_;
  if (asked_ns != kNoDeadline) limit.slept(asked_ns - to_ns(left));
  if (ready < 0) return Status(error);
  if (ready > 0 && due_in_ns > 0) rang = rang_among(watched, count);
  if (watched[count - 1].revents != 0) {
    std::uint64_t wakes = 0;
    [[maybe_unused]] const auto taken = kernel::read(wake_fd_.get(), &wakes, sizeof wakes);
  }
  return Status();
}

void Shard::stop_leading() {
  led_ = false;
  if (followers_ > 0) {
    engine_->wake();  // nobody watches now and somebody sleeps: no millisecond of grace
  } else {
    engine_->leader_left();
  }
}

bool Shard::start_following() {
  ++followers_;
  if (led_) return true;
  --followers_;
  return false;
}

void Shard::stop_following() {
  --followers_;
}

void Shard::wake_leader() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = kernel::write(wake_fd_.get(), &one, sizeof one);
}

// ---------------------------------------------------------------- what sessions use

std::uint64_t Shard::attach(std::shared_ptr<CompletionClient> client) {
  lock_.assert_held();
  if (free_clients_.empty()) {
    free_clients_.push_back(static_cast<std::uint32_t>(clients_.size()));
    clients_.emplace_back();
  }
  const std::uint32_t place = free_clients_.back();
  free_clients_.pop_back();
  const std::uint64_t token = next_serial_++ << kClientPlaceBits | place;
  clients_[place] = {token, std::move(client)};
  return token;
}

Shard::Client* Shard::client_of(std::uint64_t token) {
  const std::uint64_t place = token & ((std::uint64_t{1} << kClientPlaceBits) - 1);
  return place < clients_.size() && clients_[place].token == token ? &clients_[place] : nullptr;
}

void Shard::detach(std::uint64_t token) {
  lock_.assert_held();
  Client* const found = client_of(token);
  if (found == nullptr) return;
  detached_.push_back(std::move(found->client));
  *found = {};
  free_clients_.push_back(static_cast<std::uint32_t>(found - clients_.data()));
}

void Shard::bury(Remains remains) {
  lock_.assert_held();
  remains_.push_back(std::move(remains));
}

void Shard::arm_timer(std::uint64_t deadline_ns, std::weak_ptr<TimerClient> client) {
  lock_.assert_held();
  timers_.arm(deadline_ns, std::move(client));
  if (deadline_ns >= sleeping_until_ns_) return;
  sleeping_until_ns_ = deadline_ns;  // whoever watches sleeps too long, and is told so once
  if (led_) wake_leader();
  engine_->wake();
}

}  // namespace exs
