#include "tools/directory/leases.h"

#include <algorithm>

namespace exs::svc {

Leases::Answer Leases::claim(Entry entry, std::int64_t now) {
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
  if (!is_held_by_it && held_[holder].size() >= of_one_max_) return Answer::kNoRoom;
  if (known == entries_.end() && !make_room()) return Answer::kNoRoom;
  const bool was_held = known != entries_.end() && known->second.is_held;
  const bool is_same = was_held && known->second.bytes == entry.bytes;
  const Holder before = was_held && known->second.holder != holder ? known->second.holder : 0;
  put(id, std::move(entry));
  held_[holder].push_back(id);
  if (!is_same) changed_(id, entries_[id], before);
  return Answer::kHeld;
}

bool Leases::is_to_wait(Entry* known, const Entry& entry, std::int64_t now) const {
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

void Leases::put(const IdBytes& id, Entry entry) {
  Entry& place = entries_[id];
  if (place.is_held) {
    take_from_holder(id, place);
    --held_count_;
  }
  if (entry.is_held) ++held_count_;
  place = std::move(entry);
}

void Leases::renew(Holder holder, std::int64_t now) {
  const auto held = held_.find(holder);
  if (held == held_.end()) return;
  for (const IdBytes& id : held->second)
    if (Entry& entry = entries_[id]; !entry.is_wanted) entry.until_ns = now + entry.lease_ns;
}

void Leases::release(Holder holder, const IdBytes& id, std::int64_t now) {
  const auto known = entries_.find(id);
  if (known != entries_.end() && known->second.is_held && known->second.holder == holder)
    end(id, known->second, now);
}

void Leases::leave(Holder holder, std::int64_t now) {
  const auto held = held_.find(holder);
  if (held == held_.end()) return;
  for (const IdBytes& id : std::vector<IdBytes>(held->second)) {
    Entry& entry = entries_[id];
    if (entry.is_fenced) {
      entry.holder = 0;
    } else {
      end(id, entry, now);
    }
  }
  held_.erase(holder);
}

void Leases::end_late(std::int64_t now) {
  if (!is_any_held()) return;
  for (auto& [id, entry] : entries_)
    if (entry.is_held && now >= entry.until_ns) end(id, entry, now);
}

const Leases::Entry* Leases::find(const IdBytes& id) const {
  const auto known = entries_.find(id);
  return known == entries_.end() ? nullptr : &known->second;
}

bool Leases::make_room() {
  if (entries_.size() < entries_max_) return true;
  auto oldest = entries_.end();
  for (auto one = entries_.begin(); one != entries_.end(); ++one)
    if (!one->second.is_held && (oldest == entries_.end() || one->second.until_ns < oldest->second.until_ns))
      oldest = one;
  if (oldest == entries_.end()) return false;
  entries_.erase(oldest);
  return true;
}

void Leases::end(const IdBytes& id, Entry& entry, std::int64_t now) {
  take_from_holder(id, entry);
  --held_count_;
  entry.is_held = entry.is_wanted = false;
  entry.holder = 0;
  entry.until_ns = now;
  changed_(id, entry, 0);
}

void Leases::take_from_holder(const IdBytes& id, const Entry& entry) {
  if (const auto held = held_.find(entry.holder); held != held_.end()) std::erase(held->second, id);
}

}  // namespace exs::svc
