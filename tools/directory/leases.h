// Which process is which service, and until when: the state of a directory, without clocks, sockets or files. Thread: one.
//
// Design notes
//  1. A service that nobody holds any more is remembered, so that an older record is not accepted as a newer one later. When there is no
//     room left, the longest lost one is forgotten.
//  2. The lease of a fenced service ends by its time, or when its holder releases it: a broken connection proves nothing about its other
//     end. The same instance of the service gets the lease at once on another connection.
//  3. Services from the file have no holder for a while, until their holders claim them again.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "service/names/record.h"

namespace exs::svc {

class Leases {
 public:
  using Holder = std::uint64_t;  // 0: no known holder
  struct Entry {
    Record record;
    std::vector<std::uint8_t> bytes;
    Holder holder = 0;
    std::uint64_t lease_ns = 0;
    std::uint64_t until_ns = 0;
    bool is_held = false;
    bool is_fenced = false;  // its holder stops before the lease ends, and nobody else gets it before
    bool is_wanted = false;  // by a newer claim: it is not renewed any more
  };
  // `overtaken` is the former holder, not 0 if it has been overtaken.
  using Changed = std::function<void(const IdBytes&, const Entry&, Holder overtaken)>;
  // Returns true once the entry is in the file.
  using Keep = std::function<bool(const Entry&)>;
  enum class Answer { kHeld, kNewerKnown, kNoRoom, kWait };

  // `changed` reports each record that is held from now on, and each that no longer is. A fenced service is granted only after `keep` has
  // returned true: after a restart, the directory would grant a service that is missing in its file to another process.
  Leases(std::size_t entries_max, std::size_t of_one_max, Changed changed, Keep keep = {})
      : entries_max_(entries_max),
        of_one_max_(of_one_max),
        changed_(std::move(changed)),
        keep_(std::move(keep)) {}

  // Unknown leases may run until then: no fenced service is granted before.
  void wait_until(std::uint64_t time_ns) { fences_from_ns_ = time_ns; }
  // On success the holder has the service, and its lease begins.
  Answer claim(Entry entry, std::uint64_t now);
  // Adds an entry of the file, without an answer and without a report.
  void restore(Entry entry);
  void renew(Holder holder, std::uint64_t now);
  void release(Holder holder, const IdBytes& id, std::uint64_t now);
  // The holder's connection has broken.
  void leave(Holder holder, std::uint64_t now);
  void end_late(std::uint64_t now);
  // Returns NULL if the service has never been seen.
  [[nodiscard]] const Entry* find(const IdBytes& id) const;
  [[nodiscard]] std::size_t held_by(Holder holder) const;
  [[nodiscard]] bool is_any_held() const noexcept { return held_count_ > 0; }
  [[nodiscard]] const std::map<IdBytes, Entry>& entries() const noexcept { return entries_; }

 private:
  [[nodiscard]] bool is_to_wait(Entry* known, const Entry& entry, std::uint64_t now) const;
  void set_time(const IdBytes& id, Entry& entry, std::uint64_t until_ns);
  bool make_room();
  void put(const IdBytes& id, Entry entry);
  void end(const IdBytes& id, Entry& entry, std::uint64_t now);
  void take_from_holder(const IdBytes& id, const Entry& entry);

  const std::size_t entries_max_;
  const std::size_t of_one_max_;
  const Changed changed_;
  const Keep keep_;
  std::map<IdBytes, Entry> entries_;
  // Ordered by until_ns: when held entries end, and since when the others are lost.
  using Times = std::set<std::pair<std::uint64_t, IdBytes>>;
  Times held_until_;
  Times lost_since_;
  std::map<Holder, std::vector<IdBytes>> held_;
  std::size_t held_count_ = 0;
  std::uint64_t fences_from_ns_ = 0;
};

}  // namespace exs::svc
