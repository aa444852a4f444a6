#include "src/provider/shm/port.h"

#include <sys/eventfd.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "src/base/kernel.h"
#include "src/base/log.h"

namespace exs::shm {
namespace {

// A look at descriptors is a system call, and none of them tells of messages while somebody looks at the
// rings.
constexpr std::uint64_t kLookNs = 20'000;
constexpr std::size_t kEventsMax = 256;

}  // namespace

Result<std::unique_ptr<Port>> ShmPort::open(const Settings& settings, Regions& regions) {
  Result<Poller> poller = Poller::open();
  if (!poller) return failure(poller.error());
  UniqueFd bell(kernel::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell.valid()) {
    const int error = errno;
    log(LogLevel::kError, "shm: eventfd failed: %s", std::strerror(error));
    return failure(error);
  }
  std::unique_ptr<ShmPort> port(new ShmPort(std::move(*poller), settings, regions, std::move(bell)));
  const Status status =
      port->context_.poller.add(port->gone_bell_fd_.get(), EPOLLIN | EPOLLET, port->gone_bell_);
  if (!status.ok()) return failure(status);
  return port;
}

ShmPort::ShmPort(Poller&& poller, const Settings& settings, Regions& regions, UniqueFd gone_bell)
    : context_(std::move(poller), settings, regions, *this),
      rendezvous_(context_.settings, context_.poller, context_.completions),
      gone_bell_fd_(std::move(gone_bell)) {}

ShmPort::~ShmPort() {
  context_.regions.forget(*this);
}

// ---------------------------------------------------------------- connections

Result<UpgradeOffer> ShmPort::offer(Reason& why_not) {
  auto meeting = rendezvous_.invite(why_not);
  if (!meeting) return failure(meeting.error());
  const auto words = (*meeting)->words();
  return UpgradeOffer{std::move(*meeting), {words.begin(), words.end()}};
}

Result<std::unique_ptr<PendingUpgrade>> ShmPort::begin(std::span<const std::byte> invitation,
                                                       std::uint64_t upgrade_token) {
  auto meeting = rendezvous_.meet(invitation, upgrade_token);
  if (!meeting) return failure(meeting.error());
  return std::unique_ptr<PendingUpgrade>(std::move(*meeting));
}

Result<std::unique_ptr<Link>> ShmPort::adopt(std::unique_ptr<PendingUpgrade> upgrade, int descriptor,
                                             const ConnectParameters& parameters, std::uint64_t link_token) {
  if (parameters.depths.reads_out > kReadDepthMax || parameters.depths.reads_in > kReadDepthMax) {
    return failure(EINVAL);
  }
  std::uint64_t secret = 0;
  if (kernel::getrandom(&secret, sizeof secret, 0) != sizeof secret) return failure(EIO);
  // Upgrades come from our ports only.
  Result<Place> place = static_cast<ShmMeeting&>(*upgrade).take_place();
  if (!place) return failure(place.error() == Status(EAGAIN) ? Status(ECONNRESET) : place.error());
  Exchange& exchange = exchange_of(place->shared_channel());
  auto link = std::make_unique<ShmLink>(context_, exchange, std::move(*place), descriptor, parameters,
                                        link_token, secret);
  if (const Status status = link->start(); !status.ok()) return failure(status);
  return link;
}

Exchange& ShmPort::exchange_of(const std::shared_ptr<Channel>& channel) {
  for (const auto& exchange : exchanges_) {
    if (exchange->shared_channel() == channel) return *exchange;
  }
  return *exchanges_.emplace_back(std::make_unique<Exchange>(context_, channel));
}

// ---------------------------------------------------------------- traffic

void ShmPort::flush() {
  if (context_.wrote.empty()) return;
  flushing_.swap(context_.wrote);
  for (Exchange* exchange : flushing_) exchange->flush();
  flushing_.clear();
}

void ShmPort::progress(std::uint64_t now_ns) {
  context_.now_ns = now_ns;
  const bool look = must_look_ || now_ns - looked_ns_ >= kLookNs;
  if (look) look_at_epoll();
  for (const auto& exchange : exchanges_) exchange->look();
  if (look) {
    rendezvous_.progress(now_ns);
    drop_unused();
  }
  if (!context_.ending.empty()) end_ended(now_ns);
  if (any_gone_.load(std::memory_order_relaxed)) retract_gone();
  flush();
}

bool ShmPort::poll_memory(bool rang) {
  if (rang) return false;
  for (const auto& exchange : exchanges_) exchange->look();
  if (any_gone_.load(std::memory_order_relaxed)) retract_gone();
  flush();
  return true;
}

void ShmPort::look_at_epoll() {
  looked_ns_ = context_.now_ns;
  must_look_ = false;
  std::array<epoll_event, kEventsMax> room;
  for (const epoll_event& event : context_.poller.look(room)) {
    static_cast<Pollable*>(event.data.ptr)->ready(event.events);
  }
}

// Their rings have been looked at since the TCP connection was heard to end.
void ShmPort::end_ended(std::uint64_t now_ns) {
  const auto ending = context_.ending;  // who has ended leaves it
  for (ShmLink* link : ending) {
    if (link->exchange().drained()) link->tcp_ended(now_ns);
  }
}

void ShmPort::drop_unused() {
  std::erase_if(exchanges_, [&](const std::unique_ptr<Exchange>& exchange) {
    // The rendezvous and each link hold the channel too.
    if (exchange->shared_channel().use_count() > 1) return false;
    std::erase(context_.wrote, exchange.get());
    return true;
  });
}

std::uint64_t ShmPort::next_deadline_ns() const noexcept {
  std::uint64_t deadline_ns = rendezvous_.next_deadline_ns();
  for (const auto& exchange : exchanges_) {
    if (exchange->wants_time()) return context_.now_ns;
  }
  for (const ShmLink* link : context_.ending) deadline_ns = std::min(deadline_ns, link->end_due_ns());
  return deadline_ns;
}

bool ShmPort::arm() {
  must_look_ = true;
  bool quiet = true;
  for (const auto& exchange : exchanges_) quiet = exchange->arm() && quiet;
  return quiet;
}

void ShmPort::disarm() {
  must_look_ = true;
  for (const auto& exchange : exchanges_) exchange->disarm();
}

// ---------------------------------------------------------------- regions

void ShmPort::region_gone(MemoryKey key) {
  {
    LockGuard guard(gone_mutex_);
    gone_.push_back(key);
  }
  any_gone_.store(true, std::memory_order_relaxed);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = kernel::write(gone_bell_fd_.get(), &one, sizeof one);
}

void ShmPort::retract_gone() {
  std::vector<MemoryKey> gone;
  any_gone_.store(false, std::memory_order_relaxed);
  {
    LockGuard guard(gone_mutex_);
    gone.swap(gone_);
  }
  for (const MemoryKey key : gone) {
    context_.announced.erase(key.value);
    for (const auto& exchange : exchanges_) exchange->channel().retract(key);
  }
}

}  // namespace exs::shm
