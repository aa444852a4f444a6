// Transfers that have completed, from exm_tpoll to the queues and counters.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <new>

#include "base/check.h"
#include "fabric/endpoint.h"

namespace exs::fabric {
namespace {

constexpr int kReapedAtOnce = 16;

// Without the part of a message that the buffer has no room for.
std::uint64_t length_of(const TransferState& state, const exm_completion_t& end) noexcept {
  return (state.flags & FI_RECV) != 0 ? std::min(end.length, state.room) : end.length;
}

fi_cq_err_entry error_entry_of(const fi_cq_tagged_entry& entry, const exm_completion_t& end) noexcept {
  fi_cq_err_entry error{};
  error.op_context = entry.op_context;
  error.flags = entry.flags;
  error.buf = entry.buf;
  error.len = entry.len;
  error.data = entry.data;
  error.tag = entry.tag;
  error.olen = end.length - entry.len;
  error.err = end.error == EMSGSIZE ? FI_ETRUNC : end.error;
  error.prov_errno = end.error;
  return error;
}

}  // namespace

void Endpoint::reap() noexcept {
  if (has_unreported_.load(std::memory_order_relaxed)) retry_reports();
  exm_completion_t ends[kReapedAtOnce];
  const int count = exm_tpoll(ep_, ends, kReapedAtOnce, 0);
  if (count <= 0) return;
  EXS_CHECK(count <= kReapedAtOnce);
  const LockGuard guard(lock_);
  for (int i = 0; i < count; ++i) complete(*static_cast<TransferRecord*>(ends[i].user), ends[i]);
}

bool Endpoint::arm() noexcept {
  return !has_unreported_.load(std::memory_order_relaxed) && exm_tarm(ep_) == 1;
}

void Endpoint::complete(TransferRecord& record, const exm_completion_t& end) noexcept {
  EXS_CHECK(!record.is_free);
  try {
    finish(record, end);
  } catch (const std::bad_alloc&) {
    unreported_.push_back(record, end);
    has_unreported_.store(true, std::memory_order_relaxed);
  }
}

void Endpoint::retry_reports() noexcept {
  const LockGuard guard(lock_);
  while (!unreported_.empty()) {
    TransferRecord& record = unreported_.take_front();
    try {
      finish(record, record.end);
    } catch (const std::bad_alloc&) {
      return unreported_.put_back(record);  // the next reap() tries again
    }
  }
  has_unreported_.store(false, std::memory_order_relaxed);
}

void Endpoint::finish(TransferRecord& record, const exm_completion_t& end) {
  if (record.is_multi) return finish_multi(record, end);
  if (record.is_dropped && end.error == EMSGSIZE) {
    exm_completion_t dropped = end;
    dropped.error = 0;
    report(receives_, record, dropped);
  } else {
    report(target_of(record), record, end);
  }
  records_.release(record);
}

// The completion reports whether the buffer is returned, so the next receive is posted first.
void Endpoint::finish_multi(TransferRecord& record, const exm_completion_t& end) {
  TransferState ended = record;
  const bool is_reported = end.error == 0 && record.reports;
  if (is_reported) receives_.queue->reserve();
  const bool goes_on = receive_next(record, end);
  if (!goes_on) ended.flags |= FI_MULTI_RECV;
  if (end.error != 0) {
    report(receives_, ended, end);
  } else {
    if (is_reported) receives_.queue->add_reserved(entry_of(ended, end), address_of(end.peer));
    if (receives_.counter != nullptr) receives_.counter->add(1);
  }
  if (!goes_on) records_.release(record);
}

bool Endpoint::receive_next(TransferRecord& record, const exm_completion_t& end) noexcept {
  if (end.error != 0 || record.is_cancelled) return false;
  EXS_CHECK(end.length <= record.room);
  record.at += end.length;
  record.room -= end.length;
  if (record.room < record.min_room) return false;
  const exs_iovec_t rest{record.at, record.room, EXS_MHANDLE_UNREGISTERED, 0};
  return exm_trecv(ep_, &rest, 1, record.peer, kUntagged, 0, &record, &record.request) == 0;
}

fi_cq_tagged_entry Endpoint::entry_of(const TransferState& state, const exm_completion_t& end) noexcept {
  const bool has_data = (state.flags & FI_RECV) != 0 && (end.flags & EXM_DATA) != 0;
  const std::uint64_t tag = (state.flags & FI_TAGGED) != 0 ? end.match : 0;
  return {state.context,
          state.flags | (has_data ? FI_REMOTE_CQ_DATA : 0),
          length_of(state, end),
          state.at,
          end.data,
          tag};
}

void Endpoint::report(const CompletionTarget& target, const TransferState& state,
                      const exm_completion_t& end) {
  if (end.error == 0) {
    const fi_addr_t source = (state.flags & FI_RECV) != 0 ? address_of(end.peer) : FI_ADDR_NOTAVAIL;
    if (state.reports) target.queue->add(entry_of(state, end), source);
    if (target.counter != nullptr) target.counter->add(1);
    return;
  }
  if (target.queue != nullptr) target.queue->add_error(error_entry_of(entry_of(state, end), end));
  if (target.counter != nullptr) target.counter->add_error(1);
}

}  // namespace exs::fabric
