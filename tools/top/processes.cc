// SPDX-License-Identifier: BSD-2-Clause
#include "tools/top/processes.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/clock.h"
#include "tools/lanes/process.h"
#include "tools/top/names.h"

namespace top {
namespace {

// To search through a process's descriptors takes time, and most processes never use exs. One that has a page is seldom preloaded, too.
constexpr int kLooksBetweenSearches = 5;
constexpr int kLooksBetweenSecondSearches = 60;

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
    if (pid == ::getpid() && only_ == 0) continue;
    KnownProcess& known = known_[pid];
    if (find_counts(pid, known)) found.push_back(read(pid, known, seconds, now_ns));
  }
  return found;
}

// The folder stays that of the process even if another one gets the number.
bool Processes::find_counts(int pid, KnownProcess& known) {
  if (known.page && !known.page->is_there(*known.folder)) known = {};
  if (known.lanes && !known.lanes->is_there(*known.folder)) known = {};
  if (!(known.page && known.lanes) && known.looks_left-- <= 0) {
    if (!known.folder) known.folder.emplace(pid);
    search(known);
    known.looks_left = known.page || known.lanes ? kLooksBetweenSecondSearches : kLooksBetweenSearches;
  }
  if (known.page || known.lanes) return true;
  known.folder.reset();
  return false;
}

void Processes::search(KnownProcess& known) {
  std::vector<int> pages, families;
  known.folder->each_descriptor([&](int number, const std::string& target) {
    if (StatsReader::is_page(target)) pages.push_back(number);
    if (lanes::is_family(target)) families.push_back(number);
  });
  for (const int number : pages) {
    if (!known.page) known.page = StatsReader::map(*known.folder, number);
  }
  for (const int number : families) {
    if (!known.lanes) known.lanes = LanesReader::open(*known.folder, number);
  }
}

ShownProcess Processes::read(int pid, KnownProcess& known, double seconds, std::uint64_t now_ns) {
  ShownProcess process{pid, program_of(*known.folder), known.page ? known.page->read() : Snapshot(), {}};
  std::vector<ShownConnection> now = std::exchange(process.snapshot.connections, {});
  if (known.lanes) {
    std::vector<ShownConnection> more = known.lanes->read(*known.folder);
    std::move(more.begin(), more.end(), std::back_inserter(now));
  }
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
