// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/verbs/queues.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/kernel.h"
#include "src/log/log.h"
#include "src/provider/verbs/queue_pair.h"

namespace exs::verbs {
namespace {

constexpr std::size_t kSmallBytes = 4608;  // the usual longest message, of streams
constexpr std::size_t kLargeBytes = std::size_t{33} * 1024;
constexpr std::uint32_t kBuffersAPiece = 64;
constexpr std::uint32_t kLargeBuffersAPiece = 8;
constexpr std::uint32_t kSharedMax = 1024;
constexpr std::uint32_t kReceivesASharer = 32;
constexpr std::uint32_t kFirstLane = 4096;
constexpr std::uint32_t kLaneMax = 16384;
constexpr int kBatch = 32;
constexpr int kBatchesMax = 16;
constexpr int kDrainsMax = 2 * kLaneMax / (kBatch * kBatchesMax);  // more than any queue can hold

}  // namespace

Result<std::unique_ptr<Queues>> Queues::open(Poller& poller, Device& device, std::uint64_t& arrivals) {
  std::unique_ptr<Queues> made(new Queues(poller, device, arrivals));
  made->channel_.reset(::ibv_create_comp_channel(device.context()));
  if (!made->channel_) return failure(errno);
  const int descriptor = made->channel_->fd;
  kernel::fcntl(descriptor, F_SETFL, kernel::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  kernel::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  if (const Status status = poller.add(descriptor, EPOLLIN, *made); !status.ok()) return failure(status);
  if (device.is_iwarp() || device.limits().max_srq == 0) return made;
  if (const Status status = made->make_shared_receives(); !status.ok()) return failure(status);
  return made;
}

Queues::Queues(Poller& poller, Device& device, std::uint64_t& arrivals)
    : poller_(poller),
      device_(device),
      arrivals_(arrivals),
      receives_(device, kSmallBytes, kBuffersAPiece),
      small_sends_(device, kSmallBytes, kBuffersAPiece),
      large_sends_(device, kLargeBytes, kLargeBuffersAPiece) {}

Queues::~Queues() {
  if (channel_) poller_.remove(channel_->fd);
  shared_receives_.reset();
  lanes_.clear();  // before their channel
}

// ---------------------------------------------------------------- completion queues

Status Queues::make_queue(RingingQueue& into, std::uint32_t capacity) {
  into.queue.reset(::ibv_create_cq(device_.context(), static_cast<int>(capacity), &into, channel_.get(), 0));
  if (!into.queue) return Status(errno);
  into.capacity = static_cast<std::uint32_t>(into.queue->cqe);
  return Status();
}

Result<Lane*> Queues::reserve(const Share& share) {
  const auto has_room = [](const RingingQueue& queue, std::uint32_t more) {
    return queue.capacity - queue.reserved >= more;
  };
  Lane* found = nullptr;
  for (const auto& lane : lanes_) {
    if (has_room(lane->messages, share.receives) && has_room(lane->posts, share.posts)) found = lane.get();
  }
  if (found == nullptr) {
    const auto most = static_cast<std::uint32_t>(std::max(device_.limits().max_cqe, 1));
    const std::uint32_t capacity = std::min(lanes_.empty() ? kFirstLane : kLaneMax, most);
    // Whatever arrives through the shared queue may complete in any lane.
    if (capacity < share.posts || capacity < share.receives + shared_max_) return failure(ENOMEM);
    auto lane = std::make_unique<Lane>();
    if (const Status status = make_queue(lane->messages, capacity); !status.ok()) return failure(status);
    if (const Status status = make_queue(lane->posts, capacity); !status.ok()) return failure(status);
    lane->messages.reserved = shared_max_;
    found = lanes_.emplace_back(std::move(lane)).get();
  }
  found->messages.reserved += share.receives;
  found->posts.reserved += share.posts;
  return found;
}

void Queues::release(Lane& lane, const Share& share) noexcept {
  lane.messages.reserved -= share.receives;
  lane.posts.reserved -= share.posts;
}

bool Queues::take(RingingQueue& queue, bool messages) {
  std::array<ibv_wc, kBatch> done;
  bool some = false;
  for (int batch = 0; batch < kBatchesMax; ++batch) {
    const int count = ::ibv_poll_cq(queue.queue.get(), kBatch, done.data());
    if (count <= 0) break;
    some = true;
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = done[static_cast<std::size_t>(i)];
      QueuePair* const owner = find(completion.qp_num);
      if (owner == nullptr) continue;
      if (messages) {
        owner->message_arrived(completion);
      } else {
        owner->post_completed(completion);
      }
    }
    if (count < kBatch) break;
  }
  return some;
}

bool Queues::poll() {
  bool some = false;
  for (const auto& lane : lanes_) {
    if (lane->messages.reserved > 0) some = take(lane->messages, true) || some;
    if (lane->posts.reserved > 0) some = take(lane->posts, false) || some;
  }
  if (some) ++arrivals_;
  return some;
}

bool Queues::arm(RingingQueue& queue) {
  if (queue.armed) return true;
  ::ibv_req_notify_cq(queue.queue.get(), 0);
  queue.armed = true;
  ++armed_;
  return false;
}

void Queues::begin_waiting() noexcept {
  ++waiting_;
  if (!somebody_sleeps_) return;
  for (const auto& lane : lanes_) arm(lane->posts);
}

bool Queues::arm() {
  somebody_sleeps_ = true;
  bool all_were = true;
  for (const auto& lane : lanes_) {
    all_were = arm(lane->messages) && all_were;
    if (waiting_ > 0) all_were = arm(lane->posts) && all_were;
  }
  // A completion before the arming does not ring.
  return all_were || !poll();
}

bool Queues::hear() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  if (armed_ == 0 || ::ibv_get_cq_event(channel_.get(), &queue, &context) != 0) return false;
  static_cast<RingingQueue*>(context)->armed = false;
  --armed_;
  ::ibv_ack_cq_events(queue, 1);
  return true;
}

void Queues::ready(std::uint32_t) {
  while (hear()) continue;
}

QueuePair* Queues::find(std::uint32_t number) noexcept {
  const auto found = queue_pairs_.find(number);
  return found == queue_pairs_.end() ? nullptr : found->second;
}

void Queues::remove(std::uint32_t number) noexcept {
  for (int i = 0; i < kDrainsMax && poll(); ++i) continue;
  queue_pairs_.erase(number);
}

// ---------------------------------------------------------------- receives

Status Queues::make_shared_receives() {
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr =
      std::min(kSharedMax, static_cast<std::uint32_t>(std::max(device_.limits().max_srq_wr, 1)));
  attributes.attr.max_sge = 1;
  shared_receives_.reset(::ibv_create_srq(device_.domain(), &attributes));
  if (!shared_receives_) return Status(errno);
  shared_max_ = attributes.attr.max_wr;
  return Status();
}

ibv_srq* Queues::shared_receives(std::size_t message_bytes) noexcept {
  return message_bytes <= receives_.buffer_bytes() ? shared_receives_.get() : nullptr;
}

Status Queues::provide_receives() {
  while (receives_.count() + kBuffersAPiece <=
         std::min(shared_max_, sharers_ * kReceivesASharer + kBuffersAPiece)) {
    if (const Status status = receives_.grow(); !status.ok())
      return receives_.count() > 0 ? Status() : status;
    for (BufferNumber buffer = receives_.take_buffer(); buffer != kNoBuffer; buffer = receives_.take_buffer())
      repost(buffer);
  }
  return Status();
}

void Queues::repost(BufferNumber buffer) noexcept {
  ibv_sge entry = receives_.entry(buffer, receives_.buffer_bytes());
  ibv_recv_wr request{buffer, nullptr, &entry, 1};
  ibv_recv_wr* refused = nullptr;
  const int error = ::ibv_post_srq_recv(shared_receives_.get(), &request, &refused);
  if (error != 0)
    log(LogLevel::kError, "verbs: {}: a shared receive is lost: {}", device_.name(), std::strerror(error));
}

}  // namespace exs::verbs
