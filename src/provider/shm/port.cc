// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/port.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/contain.h"
#include "base/kernel.h"
#include "base/process_barrier.h"
#include "base/room.h"
#include "src/log/log.h"

namespace exs::shm {
namespace {

// Polling the descriptors is a system call, and none of them reports messages while the rings are polled. They are polled less
// often while messages come.
constexpr std::uint64_t kPollIntervalNs = 20'000;
constexpr std::uint64_t kBusyPollIntervalNs = 50'000;
constexpr std::size_t kEventsMax = 256;

}  // namespace

Result<std::unique_ptr<Port>> ShmPort::open(const Settings& settings, SharedRegions& regions) {
  HostBarrier::prepare();
  Result<Poller> poller = Poller::open();
  if (!poller) return failure(poller.error());
  UniqueFd bell(kernel::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell.valid()) {
    const int error = errno;
    log(LogLevel::kError, "shm: eventfd failed: {}", std::strerror(error));
    return failure(error);
  }
  std::unique_ptr<ShmPort> port(new ShmPort(std::move(*poller), settings, regions, std::move(bell)));
  const Status status =
      port->context_.poller.add(port->region_gone_fd_.get(), EPOLLIN | EPOLLET, port->region_gone_event_);
  if (!status.ok()) return failure(status);
  return port;
}

ShmPort::ShmPort(Poller&& poller, const Settings& settings, SharedRegions& regions, UniqueFd region_gone_fd)
    : context_(std::move(poller), settings, regions, *this),
      directory_(context_.settings, context_.poller, context_.completions),
      region_gone_fd_(std::move(region_gone_fd)) {}

ShmPort::~ShmPort() {
  context_.regions.forget(*this);
}

// ---------------------------------------------------------------- connections

Result<UpgradeOffer> ShmPort::offer(Reason& why_not) {
  auto pending = directory_.invite(why_not);
  if (!pending) return failure(pending.error());
  const auto invitation = (*pending)->invitation();
  return UpgradeOffer{std::move(*pending), {invitation.begin(), invitation.end()}};
}

Result<std::unique_ptr<PendingUpgrade>> ShmPort::begin(std::span<const std::byte> invitation,
                                                       std::uint64_t upgrade_token) {
  auto request = directory_.join(invitation, upgrade_token);
  if (!request) return failure(request.error());
  return std::unique_ptr<PendingUpgrade>(std::move(*request));
}

Result<std::unique_ptr<Link>> ShmPort::adopt(std::unique_ptr<PendingUpgrade> upgrade, int descriptor,
                                             const ConnectParameters& parameters, std::uint64_t link_token) {
  if (parameters.depths.reads_out > kReadDepthMax || parameters.depths.reads_in > kReadDepthMax) {
    return failure(EINVAL);
  }
  const Result<TagKey> tag_key = draw_tag_key();
  if (!tag_key) return failure(tag_key.error());
  // Upgrades come from our ports only.
  Result<ChannelSlot> slot = static_cast<ShmUpgrade&>(*upgrade).take_slot();
  if (!slot) return failure(slot.error() == Status(EAGAIN) ? Status(ECONNRESET) : slot.error());
  ChannelTraffic& traffic = traffic_of(slot->shared_channel());
  auto link = std::make_unique<ShmLink>(context_, traffic, std::move(*slot), descriptor, parameters,
                                        link_token, *tag_key);
  if (const Status status = link->start(); !status.ok()) return failure(status);
  return link;
}

ChannelTraffic& ShmPort::traffic_of(const std::shared_ptr<Channel>& channel) {
  for (const auto& traffic : channel_traffic_) {
    if (traffic->shared_channel() == channel) return *traffic;
  }
  make_room(context_.unflushed, channel_traffic_.size() + 1);
  make_room(flushing_, channel_traffic_.size() + 1);
  return *channel_traffic_.emplace_back(std::make_unique<ChannelTraffic>(context_, channel));
}

// ---------------------------------------------------------------- traffic

void ShmPort::flush() {
  if (context_.unflushed.empty()) return;
  flushing_.swap(context_.unflushed);
  for (ChannelTraffic* traffic : flushing_) traffic->flush();
  flushing_.clear();
}

void ShmPort::progress(std::uint64_t now_ns) {
  take_faults();
  context_.now_ns = now_ns;
  const bool is_busy = context_.arrivals != arrivals_at_poll_;
  const bool due = must_poll_ || now_ns - polled_ns_ >= (is_busy ? kBusyPollIntervalNs : kPollIntervalNs);
  if (due) poll_descriptors();
  for (const auto& traffic : channel_traffic_) traffic->process();
  if (due) {
    directory_.progress(now_ns);
    drop_unused();
  }
  if (!context_.ending.empty()) end_links_without_tcp(now_ns);
  if (any_gone_.load(std::memory_order_relaxed)) retract_gone_regions();
  flush();
}

bool ShmPort::poll_memory(bool rang) {
  if (rang) return false;
  take_faults();
  for (const auto& traffic : channel_traffic_) traffic->process();
  if (any_gone_.load(std::memory_order_relaxed)) retract_gone_regions();
  flush();
  return true;
}

// Another channel comes first each time.
bool ShmPort::take_news(const bool& enough) {
  take_faults();
  const std::size_t count = channel_traffic_.size();
  if (++first_ >= count) first_ = 0;
  for (std::size_t i = first_; i < count && !enough; ++i) channel_traffic_[i]->take_news(enough);
  for (std::size_t i = 0; i < first_ && !enough; ++i) channel_traffic_[i]->take_news(enough);
  if (any_gone_.load(std::memory_order_relaxed)) retract_gone_regions();
  flush();
  return true;
}

bool ShmPort::has_news() noexcept {
  for (const auto& traffic : channel_traffic_) {
    if (traffic->has_news()) return true;
  }
  return any_gone_.load(std::memory_order_relaxed);
}

void ShmPort::poll_descriptors() {
  polled_ns_ = context_.now_ns;
  arrivals_at_poll_ = context_.arrivals;
  must_poll_ = false;
  std::array<epoll_event, kEventsMax> room;
  for (const epoll_event& event : context_.poller.look(room)) {
    static_cast<Pollable*>(event.data.ptr)->ready(event.events);
  }
}

// Their rings have been processed since the event of the TCP connection's end.
void ShmPort::end_links_without_tcp(std::uint64_t now_ns) {
  std::size_t stays = 0;
  while (stays < context_.ending.size()) {
    ShmLink& link = *context_.ending[stays];
    const bool leaves = link.traffic().drained() && link.on_tcp_end(now_ns);
    stays += leaves ? 0 : 1;
  }
}

void ShmPort::drop_unused() {
  std::erase_if(channel_traffic_, [&](const std::unique_ptr<ChannelTraffic>& traffic) {
    // The directory and each link hold the channel too.
    if (traffic->shared_channel().use_count() > 1) return false;
    std::erase(context_.unflushed, traffic.get());
    return true;
  });
}

std::uint64_t ShmPort::next_deadline_ns() const noexcept {
  std::uint64_t deadline_ns = directory_.next_deadline_ns();
  for (const auto& traffic : channel_traffic_) {
    if (traffic->has_work()) return context_.now_ns;
  }
  for (const ShmLink* link : context_.ending) deadline_ns = std::min(deadline_ns, link->end_due_ns());
  return deadline_ns;
}

bool ShmPort::arm() {
  must_poll_ = true;
  bool quiet = true;
  for (const auto& traffic : channel_traffic_) quiet = traffic->arm() && quiet;
  return quiet;
}

void ShmPort::disarm() {
  must_poll_ = true;
  for (const auto& traffic : channel_traffic_) traffic->disarm();
}

// ---------------------------------------------------------------- regions

void ShmPort::expect_regions(std::size_t most) {
  LockGuard guard(gone_mutex_);
  make_room(gone_, most);
}

void ShmPort::region_gone(MemoryKey key) noexcept {
  {
    LockGuard guard(gone_mutex_);
    gone_.push_back(key);
  }
  any_gone_.store(true, std::memory_order_relaxed);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = kernel::write(region_gone_fd_.get(), &one, sizeof one);
}

void ShmPort::retract_gone_regions() {
  any_gone_.store(false, std::memory_order_relaxed);
  LockGuard guard(gone_mutex_);
  for (const MemoryKey key : gone_) {
    context_.announced.erase(key.value);
    for (const auto& traffic : channel_traffic_) traffic->channel().retract(key);
  }
  gone_.clear();
}

}  // namespace exs::shm
