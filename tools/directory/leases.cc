// SPDX-License-Identifier: BSD-2-Clause
#include "tools/directory/leases.h"

#include <algorithm>

#include "base/check.h"

namespace exs::svc {

Leases::Answer Leases::claim(Entry entry, std::uint64_t now) {
  const Holder holder = entry.holder;
  const IdBytes id = id_of(entry.record.key);
  entry.until_ns = now + entry.lease_ns;
  entry.is_held = true;
  auto known = entries_.find(id);
  if (known != entries_.end() && is_newer(known->second.record, entry.record)) return Answer::kNewerKnown;
  Entry* const now_known = known == entries_.end() ? nullptr : &known->second;
  if (is_to_wait(now_known, entry, now)) return Answer::kWait;
  const bool is_held_by_it =
      known != entries_.end() && known->second.is_held && known->second.holder == holder;
  std::vector<IdBytes>& of_holder = held_[holder];
  if (!is_held_by_it && of_holder.size() >= of_one_max_) return Answer::kNoRoom;
  if (known == entries_.end() && !make_room()) return Answer::kNoRoom;
  const bool was_held = known != entries_.end() && known->second.is_held;
  const bool is_same = was_held && known->second.bytes == entry.bytes;
  const bool is_kept = is_same && known->second.is_fenced;
  if (entry.is_fenced && !is_kept && keep_ && !keep_(entry)) return Answer::kWait;
  const Holder before = was_held && known->second.holder != holder ? known->second.holder : 0;
  if (of_holder.size() == of_holder.capacity()) of_holder.reserve(2 * of_holder.size() + 1);
  put(id, std::move(entry));
  of_holder.push_back(id);
  if (!is_same) changed_(id, entries_[id], before);
  return Answer::kHeld;
}

bool Leases::is_to_wait(Entry* known, const Entry& entry, std::uint64_t now) const {
  const bool is_held = known != nullptr && known->is_held;
  if (is_held && known->record.instance == entry.record.instance) return false;
  if (is_held && known->is_fenced && known->holder != entry.holder) return known->is_wanted = true;
  return entry.is_fenced && now < fences_from_ns_;
}

void Leases::restore(Entry entry) {
  const IdBytes id = id_of(entry.record.key);
  const Entry* const known = find(id);
  if (known == nullptr ? !make_room() : is_newer(known->record, entry.record)) return;
  put(id, std::move(entry));
}

// All or nothing: steps that need memory come first.
void Leases::put(const IdBytes& id, Entry entry) {
  const auto [at, is_new] = entries_.try_emplace(id);
  Entry& place = at->second;
  Times::node_type before;
  if (!is_new) before = (place.is_held ? held_until_ : lost_since_).extract({place.until_ns, id});
  Times& times = entry.is_held ? held_until_ : lost_since_;
  if (before.empty()) {
    try {
      times.insert({entry.until_ns, id});
    } catch (...) {
      entries_.erase(at);
      throw;
    }
  } else {
    before.value().first = entry.until_ns;
    times.insert(std::move(before));
  }
  if (place.is_held) {
    EXS_CHECK(held_count_ > 0);
    take_from_holder(id, place);
    --held_count_;
  }
  if (entry.is_held) ++held_count_;
  place = std::move(entry);
}

void Leases::set_time(const IdBytes& id, Entry& entry, std::uint64_t until_ns) {
  Times::node_type time = held_until_.extract({entry.until_ns, id});
  EXS_CHECK(!time.empty());  // what is held has a time
  entry.until_ns = time.value().first = until_ns;
  held_until_.insert(std::move(time));
}

void Leases::renew(Holder holder, std::uint64_t now) {
  const auto held = held_.find(holder);
  if (held == held_.end()) return;
  for (const IdBytes& id : held->second)
    if (Entry& entry = entries_[id]; !entry.is_wanted) set_time(id, entry, now + entry.lease_ns);
}

void Leases::release(Holder holder, const IdBytes& id, std::uint64_t now) {
  const auto known = entries_.find(id);
  if (known != entries_.end() && known->second.is_held && known->second.holder == holder)
    end(id, known->second, now);
}

void Leases::leave(Holder holder, std::uint64_t now) {
  const auto held = held_.extract(holder);
  if (held.empty()) return;
  for (const IdBytes& id : held.mapped()) {
    Entry& entry = entries_[id];
    if (entry.is_fenced) {
      entry.holder = 0;
    } else {
      end(id, entry, now);
    }
  }
}

void Leases::end_late(std::uint64_t now) {
  while (!held_until_.empty() && held_until_.begin()->first <= now) {
    const IdBytes id = held_until_.begin()->second;
    end(id, entries_[id], now);
  }
}

std::size_t Leases::held_by(Holder holder) const {
  const auto held = held_.find(holder);
  return held == held_.end() ? 0 : held->second.size();
}

const Leases::Entry* Leases::find(const IdBytes& id) const {
  const auto known = entries_.find(id);
  return known == entries_.end() ? nullptr : &known->second;
}

bool Leases::make_room() {
  if (entries_.size() < entries_max_) return true;
  if (lost_since_.empty()) return false;
  entries_.erase(lost_since_.begin()->second);
  lost_since_.erase(lost_since_.begin());
  return true;
}

void Leases::end(const IdBytes& id, Entry& entry, std::uint64_t now) {
  EXS_CHECK(entry.is_held && held_count_ > 0);
  take_from_holder(id, entry);
  --held_count_;
  Times::node_type time = held_until_.extract({entry.until_ns, id});
  EXS_CHECK(!time.empty());
  time.value().first = now;
  lost_since_.insert(std::move(time));
  entry.is_held = entry.is_wanted = false;
  entry.holder = 0;
  entry.until_ns = now;
  changed_(id, entry, 0);
}

void Leases::take_from_holder(const IdBytes& id, const Entry& entry) {
  if (const auto held = held_.find(entry.holder); held != held_.end()) std::erase(held->second, id);
}

}  // namespace exs::svc
