// SPDX-License-Identifier: BSD-2-Clause
#include "tools/top/processes.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/clock.h"
#include "tools/top/names.h"

namespace top {
namespace {

// To search through a process's descriptors takes time, and most processes never use exs.
constexpr int kLooksBetweenSearches = 5;

std::uint64_t stalled_ns(const exs::stats::Counters& counters, std::uint64_t now_ns) {
  const std::uint64_t since_ns = counters.stalled_since_ns;
  return counters.stalled_ns + (since_ns != 0 && since_ns < now_ns ? now_ns - since_ns : 0);
}

// Counters of a page that somebody forged may go back.
double difference(std::uint64_t now, std::uint64_t before) {
  return now < before ? 0 : static_cast<double>(now - before);
}

Rates rates_of(const exs::stats::Counters& now, const exs::stats::Counters& before, double seconds) {
  return {difference(now.bytes_sent, before.bytes_sent) / seconds,
          difference(now.bytes_received, before.bytes_received) / seconds,
          difference(now.sends_done, before.sends_done) / seconds,
          difference(now.receives_done, before.receives_done) / seconds,
          std::min(1.0, difference(now.stalled_ns, before.stalled_ns) / kNsPerSecond / seconds)};
}

std::string program_of(const tools::ProcFolder& folder) {
  std::string name;
  folder.read("comm", name);
  name.resize(std::min(name.find('\n'), name.size()));
  for (char& letter : name) {
    if (letter < ' ' || letter > '~') letter = '?';
  }
  return name;
}

}  // namespace

std::vector<ShownProcess> Processes::look_again() {
  const std::uint64_t now_ns = exs::monotonic_ns();
  const double seconds = last_ns_ == 0 ? 0 : static_cast<double>(now_ns - last_ns_) / kNsPerSecond;
  last_ns_ = now_ns;
  const std::vector<pid_t> here = only_ == 0 ? tools::all_processes() : std::vector<pid_t>{only_};
  const std::set<int> alive(here.begin(), here.end());
  std::erase_if(known_, [&](const auto& entry) { return !alive.contains(entry.first); });
  std::vector<ShownProcess> found;
  for (const int pid : alive) {
    KnownProcess& known = known_[pid];
    if (find_page(pid, known)) found.push_back(read(pid, known, seconds, now_ns));
  }
  return found;
}

// The folder stays that of the process even if another one gets the number.
bool Processes::find_page(int pid, KnownProcess& known) {
  if (known.reader && known.reader->is_there(*known.folder)) return true;
  if (known.reader) known = {};
  if (known.looks_left-- > 0) return false;
  known.looks_left = kLooksBetweenSearches;
  known.folder.emplace(pid);
  known.reader = StatsReader::find(*known.folder);
  if (!known.reader) known.folder.reset();
  return known.reader.has_value();
}

ShownProcess Processes::read(int pid, KnownProcess& known, double seconds, std::uint64_t now_ns) {
  ShownProcess process{pid, program_of(*known.folder), known.reader->read(), {}};
  std::vector<ShownConnection> now = std::exchange(process.snapshot.connections, {});
  process.rows.reserve(now.size());
  auto before = known.before.begin();
  for (ShownConnection& connection : now) {
    exs::stats::Counters& counters = connection.record.counters;
    counters.stalled_ns = stalled_ns(counters, now_ns);
    while (before != known.before.end() && before->place < connection.place) ++before;
    const bool is_known = before != known.before.end() && before->place == connection.place &&
                          before->record.opened_ns == connection.record.opened_ns;
    process.rows.push_back({connection, is_known && seconds > 0
                                            ? rates_of(counters, before->record.counters, seconds)
                                            : Rates()});
  }
  known.before = std::move(now);
  return process;
}

}  // namespace top
