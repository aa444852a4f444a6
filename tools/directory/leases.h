// Who is which service, and until when: the state of a directory, without clocks, sockets or files. Thread: one.
//
// Design notes
//  1. A service that nobody holds any more is remembered, so that an older record is not taken for a newer one later; the one that was
//     lost the longest ago is forgotten when there is no more room.
//  2. The lease of a fenced service ends by its time, or when its holder says so: a connection that breaks tells nothing of who was at
//     its other end. The same life of the service has it at once on another connection.
//  3. Services that come from the file are held by nobody in particular, for a while: their holders are to claim them again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "service/names/clock.h"
#include "service/names/record.h"

namespace exs::svc {

class Leases {
 public:
  using Holder = std::uint64_t;  // 0: nobody in particular
  struct Entry {
    Record record;
    std::vector<std::uint8_t> bytes;
    Holder holder = 0;
    std::int64_t lease_ns = 0;
    std::int64_t until_ns = 0;
    bool is_held = false;
    bool is_fenced =
        false;  // its holder stops before the lease would end, and nobody else has it until it has
    bool is_wanted = false;  // by somebody newer: it is not renewed any more
  };
  // The holder that it had before is not 0 where that has been overtaken.
  using Changed = std::function<void(const IdBytes&, const Entry&, Holder overtaken)>;
  // Whether it is in the file by now.
  using Keep = std::function<bool(const Entry&)>;
  enum class Answer { kHeld, kNewerKnown, kNoRoom, kWait };

  // `changed` is told of each record that is held from now on, and of each that is not any more. A fenced
  // service is granted after `keep` has returned true: a directory that goes on from its file would grant what is not in it to another.
  Leases(std::size_t entries_max, std::size_t of_one_max, Changed changed, Keep keep = {})
      : entries_max_(entries_max),
        of_one_max_(of_one_max),
        changed_(std::move(changed)),
        keep_(std::move(keep)) {}

  // Leases that are not known may run until then: nobody is fenced before.
  void wait_until(std::int64_t time_ns) { fences_from_ns_ = time_ns; }
  // Has the holder, and its lease from now on.
  Answer claim(Entry entry, std::int64_t now);
  // From the file, without an answer and without being told.
  void restore(Entry entry);
  void renew(Holder holder, std::int64_t now);
  void release(Holder holder, const IdBytes& id, std::int64_t now);
  // Its connection has broken.
  void leave(Holder holder, std::int64_t now);
  void end_late(std::int64_t now);
  // NULL: it has never been seen.
  [[nodiscard]] const Entry* find(const IdBytes& id) const;
  [[nodiscard]] std::size_t held_by(Holder holder) const;
  [[nodiscard]] bool is_any_held() const noexcept { return held_count_ > 0; }
  [[nodiscard]] const std::map<IdBytes, Entry>& entries() const noexcept { return entries_; }

 private:
  [[nodiscard]] bool is_to_wait(Entry* known, const Entry& entry, std::int64_t now) const;
  void set_time(const IdBytes& id, Entry& entry, std::int64_t until_ns);
  bool make_room();
  void put(const IdBytes& id, Entry entry);
  void end(const IdBytes& id, Entry& entry, std::int64_t now);
  void take_from_holder(const IdBytes& id, const Entry& entry);

  const std::size_t entries_max_;
  const std::size_t of_one_max_;
  const Changed changed_;
  const Keep keep_;
  std::map<IdBytes, Entry> entries_;
  // By until_ns: when those that are held end, and since when the others are lost.
  using Times = std::set<std::pair<std::int64_t, IdBytes>>;
  Times held_until_;
  Times lost_since_;
  std::map<Holder, std::vector<IdBytes>> held_;
  std::size_t held_count_ = 0;
  std::int64_t fences_from_ns_ = INT64_MIN;
};

}  // namespace exs::svc
