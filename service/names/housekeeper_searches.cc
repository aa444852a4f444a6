// What the housekeeper looks for, and for whom.
#include <algorithm>
#include <cerrno>

#include "service/names/housekeeper.h"

namespace exs::svc {
namespace {

constexpr std::int64_t kLastSearchAgainNs = 80 * kNsPerMs;
constexpr std::int64_t kLastHolderAgainNs = 32 * kLastSearchAgainNs;
constexpr std::int64_t kRingAgainNs = 10 * kNsPerMs;

}  // namespace

void Housekeeper::go_on(std::int64_t now) {
  // One by one, so that all are whole if there is no memory for one of them.
  for (auto search = searches_.begin(); search != searches_.end();)
    search = step(*search, now, is_ready(search->asked.get())) ? searches_.erase(search) : search + 1;
  for (auto& [sink, rings] : rings_) {
    if (std::min(rings.alarm_ns, rings.found_ns) > now) continue;
    // One ring is for both.
    if (rings.alarm_ns <= now) rings.alarm_ns = kNever;
    rings.found_ns = sink->ring() ? kNever : after(now, kRingAgainNs);
  }
}

void Housekeeper::end(Search& search, std::optional<Record> record, std::vector<sockaddr_storage> addresses) {
  Rings& rings = rings_[search.sink];
  search.sink->put({search.number, std::move(record), std::move(addresses)});
  rings.found_ns = 0;
}

// True: the search has ended.
bool Housekeeper::step(Search& search, std::int64_t now, bool is_readable) {
  search.patience.look(std::min(search.next_ns, search.patience.limit_ns()), now);
  if (is_readable) {
    std::optional<Record> record = read_host_answer(search.asked.get(), search.id);
    search.asked = Descriptor();
    search.is_held = false;
    search.holder_next_ns = search.next_ns;
    if (record) {
      std::vector<sockaddr_storage> addresses = record->addresses;
      end(search, std::move(record), std::move(addresses));
      return true;
    }
  }
  if (search.is_held && search.ways.waits_for_holder) search.patience.is_there(now);
  if (search.patience.is_over(now)) {
    end(search, {}, {});
    return true;
  }
  return now >= search.next_ns && ask(search, now);
}

// Of who has not answered on this host by now nothing is expected but what others say.
bool Housekeeper::ask(Search& search, std::int64_t now) {
  const bool was_held = search.is_held;
  search.next_ns = after(now, search.pause_ns);
  const bool is_asked = search.ways.by_host && now >= search.holder_next_ns && ask_holder(search, now);
  search.pause_ns = std::min(2 * search.pause_ns, kLastSearchAgainNs);
  if (is_asked && !was_held) return false;
  if (go_by_file(search)) return true;
  for (Resolver* const resolver : resolvers_of(search.ways)) resolver->ask(search.id, now);
  return false;
}

// True: it has been asked, and may answer.
bool Housekeeper::ask_holder(Search& search, std::int64_t now) {
  const bool was_held = search.is_held;
  search.asked = Descriptor();
  const int error = ask_host_name(search.id, search.asked);
  search.is_held = error == 0 || error == EAGAIN;
  search.holder_pause_ns =
      was_held && search.is_held ? std::min(2 * search.holder_pause_ns, kLastHolderAgainNs) : search.pause_ns;
  search.holder_next_ns = after(now, search.holder_pause_ns);
  if (error == 0) watch(search.asked.get());
  return error == 0;
}

bool Housekeeper::go_by_file(Search& search) {
  if (search.ways.names_path.empty()) return false;
  std::vector<sockaddr_storage> addresses = NamesFile(search.ways.names_path).addresses_of(search.id);
  if (addresses.empty()) return false;
  end(search, {}, std::move(addresses));
  return true;
}

}  // namespace exs::svc
