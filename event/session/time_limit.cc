// SPDX-License-Identifier: BSD-2-Clause
#include "event/session/time_limit.h"

#include "base/undo.h"

namespace exs {

std::shared_ptr<TimeLimit> TimeLimit::create(const TimeLimitWish& wish, proto::Direction direction,
                                             const std::shared_ptr<KernelDescriptor>& number) {
  exs_event_t event{};
  event.exs_evt_type = direction == proto::Direction::kSend ? EXS_EVT_SENDTIMEOUT : EXS_EVT_RECVTIMEOUT;
  event.exs_evt_socket = number->number();
  event.exs_evt_ahandle = wish.timeout.handle;
  const auto notice = Notice::create(wish.queue, event, number, Notice::Keeps::kLatest);
  if (!notice) return nullptr;
  Undo end([&] { notice->end(); });
  auto limit = std::make_shared<TimeLimit>(wish, notice);
  end.cancel();
  return limit;
}

void LateWatch::set(std::shared_ptr<TimeLimit> limit, const std::shared_ptr<void>& owner) {
  limit_ = std::move(limit);
  owner_ = owner;
  told_until_ns_ = 0;
  awaits_peer_ = false;
  due_.drop();
  if (!limit_) return;
  Undo forget([this] { limit_.reset(); });
  const std::uint64_t oldest_ns = times_.first_after(0);
  if (oldest_ns != PostTimes::kNone) wait_until(oldest_ns + limit_->ns());
  forget.cancel();
}

void LateWatch::posted(std::uint64_t posted_ns, const std::shared_ptr<void>& owner) {
  shard_.assert_held();
  owner_ = owner;
  if (limit_ && !due_.is_set()) wait_until(posted_ns + limit_->ns());
  times_.add(posted_ns);
}

void LateWatch::wait_until(std::uint64_t at_ns) {
  if (const auto owner = owner_.lock()) due_.set(shard_, at_ns, owner);
}

void LateWatch::report_if_late(std::uint64_t now_ns) {
  if (!limit_) return;
  const auto limit = limit_;  // telling may end the session
  const std::uint64_t until_ns = now_ns - limit->ns();
  const std::uint64_t first_untold_ns = times_.first_after(limit->once() ? told_until_ns_ : 0);
  const std::uint64_t first_ns = awaits_peer_ ? times_.first_after(0) : first_untold_ns;
  if (first_ns == PostTimes::kNone) return;
  if (first_ns > until_ns) return wait_until(first_ns + limit->ns());
  told_until_ns_ = until_ns;
  if (first_untold_ns <= until_ns) limit->report_late(times_.count_until(until_ns));
  awaits_peer_ = limit->cancels() && operations_.end_late(direction_, until_ns);
  if (limit_ != limit || times_.empty()) return;
  const std::uint64_t next_ns = times_.first_after(until_ns);
  if (next_ns != PostTimes::kNone) {
    wait_until(next_ns + limit->ns());
  } else if (!limit->once() || awaits_peer_) {
    wait_until(now_ns + limit->ns());
  }
}

}  // namespace exs
