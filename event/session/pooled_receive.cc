// SPDX-License-Identifier: BSD-2-Clause
#include "event/session/pooled_receive.h"

#include <cerrno>

#include "event/engine/shard.h"
#include "event/queue/transfer_event.h"

namespace exs {
namespace {

// Several messages may have READs in progress, but a single socket does not empty the pool.
constexpr std::size_t kUnderWayMax = 8;

}  // namespace

// Runs on the shard when this receive's turn in a line has come.
class PooledReceive::Turn final : public Task {
 public:
  void run(Shard&) override {
    receive->waits_ = false;
    session->advance_pooled();
    receive->pass_on();
  }
  std::shared_ptr<PooledReceive> receive;
  std::shared_ptr<PooledSession> session;
};

PooledReceive::PooledReceive(const std::shared_ptr<PooledSession>& session, std::shared_ptr<ReceivePool> pool,
                             ControlTarget target)
    : session_(session), pool_(std::move(pool)), target_(std::move(target)) {}

PooledReceive::~PooledReceive() {
  if (uses_pool_) pool_->release();
}

// ---------------------------------------------------------------- receiving

bool PooledReceive::advance(PooledSession& session, std::size_t most) {
  if (advancing_) return false;
  advancing_ = true;
  while (most > 0 && can_post(session) && post(session)) --most;
  advancing_ = false;
  if (const std::optional<int> why = session.why_ended()) stop(*why);
  return stopped_ && under_way_ == 0;
}

bool PooledReceive::can_post(const PooledSession& session) const {
  return !stopped_ && !waits_ && under_way_ < kUnderWayMax && session.has_arrivals();
}

// Null: one of them is missing and this is in the line for it, or there is no memory.
std::byte* PooledReceive::take_buffer_and_slot() {
  bool has_slot = false;
  std::byte* buffer = nullptr;
  try {
    if (!turn_) turn_ = std::make_unique<Turn>();
    has_slot = target_.queue->reserve_or_wait(shared_from_this());
    if (has_slot) buffer = pool_->take_or_wait(shared_from_this());
    waits_ = buffer == nullptr;
  } catch (const std::bad_alloc&) {
    stop(ENOMEM);
  }
  if (has_slot && buffer == nullptr) target_.queue->cancel_reservation();
  return buffer;
}

bool PooledReceive::post(PooledSession& session) {
  std::byte* const buffer = take_buffer_and_slot();
  if (buffer == nullptr) return false;
  ++under_way_;
  session.start_receive(receive_into(buffer));
  return true;
}

proto::Operation PooledReceive::receive_into(std::byte* buffer) const {
  proto::Operation operation;
  operation.memory = pool_->slice(buffer);
  operation.tag.queue = target_.queue.get();
  operation.tag.handle = target_.handle;
  operation.tag.memory_handle = pool_->region_handle();
  operation.tag.pooled = true;
  return operation;
}

void PooledReceive::take(const std::shared_ptr<KernelDescriptor>& descriptor,
                         const proto::Operation& operation, const proto::Outcome& outcome) {
  --under_way_;
  if (outcome.error != 0 || (outcome.flags & proto::kEndOfStream) != 0) {
    last_flags_ |= (outcome.flags & proto::kEndOfStream) != 0 ? EXS_EVF_EOF : 0U;
    stop(outcome.error);
    return give_back(operation);
  }
  pool_->hand_out(operation.memory.address);
  const int socket = descriptor->number();
  target_.queue->push_made(
      [&](exs_event_t& event) {
        make_transfer_event(event, socket, proto::Direction::kReceive, operation, outcome);
        event.exs_evt_flags |= EXS_EVF_MORE;
      },
      descriptor);
}

void PooledReceive::give_back(const proto::Operation& operation) {
  pool_->put_back(operation.memory.address);
  target_.queue->cancel_reservation();
}

// ---------------------------------------------------------------- waiting its turn

void PooledReceive::try_again() {
  auto session = session_.lock();
  if (!session) return pass_on();
  const auto shard = session->home();
  turn_->receive = shared_from_this();
  turn_->session = std::move(session);
  shard->execute(std::move(turn_));
}

void PooledReceive::pass_on() {
  target_.queue->pass_on();
  pool_->pass_on();
}

// ---------------------------------------------------------------- the end

void PooledReceive::stop(int error) noexcept {
  if (stopped_) return;
  stopped_ = true;
  error_ = error;
}

void PooledReceive::end(const std::shared_ptr<KernelDescriptor>& descriptor) {
  uses_pool_ = false;
  pool_->release();
  exs_event_t event = control_event(target_, *descriptor, EXS_EVT_RECV, error_);
  event.exs_evt_flags = last_flags_;
  event.exs_evt_union.exs_evt_xfer.exs_evt_mhandle = pool_->region_handle();
  target_.queue->push(event, descriptor);
}

}  // namespace exs
