// The searches of the name thread.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "service/names/address.h"
#include "service/names/name_service.h"

namespace exs::svc {
namespace {

constexpr std::uint64_t kLastSearchAgainNs = 80 * kNsPerMs;
constexpr std::uint64_t kLastHolderAgainNs = 32 * kLastSearchAgainNs;
constexpr std::uint64_t kRingAgainNs = 10 * kNsPerMs;

}  // namespace

void NameService::go_on(std::uint64_t now) {
  // Erasing one by one leaves all searches valid if memory runs out in between.
  for (auto search = searches_.begin(); search != searches_.end();)
    search = step(*search, now, is_ready(search->asked.get())) ? searches_.erase(search) : search + 1;
  for (auto& [sink, rings] : rings_) {
    if (std::min(rings.alarm_ns, rings.found_ns) > now) continue;
    // One wake serves both.
    if (rings.alarm_ns <= now) rings.alarm_ns = kNeverNs;
    rings.found_ns = sink->ring() ? kNeverNs : time_after(now, kRingAgainNs);
  }
}

void NameService::end(Search& search, std::optional<Record> record, std::vector<sockaddr_storage> addresses) {
  Rings& rings = rings_[search.sink];
  search.sink->put({search.number, std::move(record), std::move(addresses)});
  rings.found_ns = 0;
}

// Returns true if the search has ended.
bool NameService::step(Search& search, std::uint64_t now, bool is_readable) {
  search.patience.look(search.due_ns(), now);
  if (is_readable) {
    std::optional<Record> record = read_host_answer(search.asked.get(), search.id);
    search.asked.reset();
    search.is_held = false;
    search.holder_next_ns = search.next_ns;
    if (!record)
      search.log.say(search.id,
                     [] { return std::string("who has its name on this host is not it, or ends"); });
    if (record) {
      log_found(search, "who has its name on this host", record->addresses);
      std::vector<sockaddr_storage> addresses = record->addresses;
      end(search, std::move(record), std::move(addresses));
      return true;
    }
  }
  if (search.is_held && search.ways.waits_for_holder) search.patience.is_there(now);
  if (search.patience.is_over(now)) {
    search.log.say(search.id, [] { return std::string("nobody was found in time"); });
    end(search, {}, {});
    return true;
  }
  return now >= search.next_ns && ask(search, now);
}

// A holder that has not answered by now no longer holds up the file and the resolvers.
bool NameService::ask(Search& search, std::uint64_t now) {
  const bool was_held = search.is_held;
  if (search.patience.owes_search()) search.patience.is_there(now);  // the time counts from the question
  // A holder that was waited for is asked once more when it ends its connection.
  if (!was_held) search.patience.note_search();
  search.next_ns = time_after(now, search.pause_ns);
  const bool is_asked = search.ways.by_host && now >= search.holder_next_ns && ask_holder(search, now);
  search.pause_ns = std::min(2 * search.pause_ns, kLastSearchAgainNs);
  if (is_asked && !was_held) return false;
  if (go_by_file(search)) return true;
  for (Resolver* const resolver : resolvers_of(search.ways)) {
    search.log.say(search.id, [&] { return "asked for by " + resolver->name(); });
    resolver->ask(search.id, now);
  }
  return false;
}

// Returns true if the holder was asked and may answer.
bool NameService::ask_holder(Search& search, std::uint64_t now) {
  const bool was_held = search.is_held;
  search.asked.reset();  // before the next question
  Result<UniqueFd> asked = ask_host_name(search.id);
  const int error = asked ? watch(asked->get()).error() : asked.error().error();
  if (error == 0) search.asked = std::move(*asked);
  log_holder(search, error);
  search.is_held = error == 0 || error == EAGAIN;
  if (error == ECONNREFUSED) search.patience.note_search();  // it has ended
  search.holder_pause_ns =
      was_held && search.is_held ? std::min(2 * search.holder_pause_ns, kLastHolderAgainNs) : search.pause_ns;
  search.holder_next_ns = time_after(now, search.holder_pause_ns);
  return error == 0;
}

bool NameService::go_by_file(Search& search) {
  if (search.ways.names_path.empty()) return false;
  std::vector<sockaddr_storage> addresses = NamesFile(search.ways.names_path).addresses_of(search.id);
  if (addresses.empty()) {
    search.log.say(search.id, [&] { return search.ways.names_path + " has no address of it"; });
    return false;
  }
  log_found(search, search.ways.names_path, addresses);
  end(search, {}, std::move(addresses));
  return true;
}

// ---------------------------------------------------------------- what is said of it

void NameService::log_begin(Search& search, std::uint64_t now) {
  search.log.say(search.id, [&] {
    std::string ways = search.ways.by_host ? " on this host" : "";
    if (!search.ways.names_path.empty()) ways += ", in " + search.ways.names_path;
    if (search.ways.directory) ways += ", at the directory " + text_of(*search.ways.directory);
    if (search.ways.multicast) ways += ", by multicast";
    const std::uint64_t limit_ms = time_left(search.patience.limit_ns(), now) / kNsPerMs;
    return "looked for" + ways + "; for " + std::to_string(limit_ms) + " ms";
  });
}

// `error` is that of the question.
void NameService::log_holder(Search& search, int error) {
  search.log.say(search.id, [&]() -> std::string {
    if (error == ECONNREFUSED) return "no process of this host has its name";
    if (error == EAGAIN)
      return "a process of this host has its name and takes no more questions: it is stopped, or starved";
    if (error != 0) return std::string("cannot ask on this host: ") + std::strerror(error);
    const std::string holder = text_of(holder_of(search.asked.get()));
    return search.is_held ? holder + " has its name, and has not answered: it is waited for"
                          : holder + " has its name, and is asked";
  });
}

void NameService::log_found(Search& search, const std::string& by,
                            const std::vector<sockaddr_storage>& addresses) {
  search.log.say(search.id, [&] {
    std::string words = "found by " + by + ", at";
    for (const sockaddr_storage& address : addresses) words += " " + text_of(address);
    return words;
  });
}

}  // namespace exs::svc
