#include "tests/support/driven_port.h"

#include <poll.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "src/base/clock.h"

namespace exs::test {

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

DrivenPort::DrivenPort(Provider& provider) {
  Reason why_not;
  auto opened = provider.open_port(why_not);
  require(opened.has_value(), std::string("open_port: ") + why_not.fact);
  port_ = std::move(*opened);
}

void DrivenPort::become_engine() {
  if (SingleIssuer* const issuer = port_->single_issuer()) issuer->bind_thread();
}

bool DrivenPort::turn() {
  const std::size_t before = seen.size();
  port_->flush();
  port_->progress(monotonic_ns());
  collect();
  return seen.size() != before;
}

void DrivenPort::collect() {
  Completion batch[7];  // odd and small: poll() must cope with any room
  while (const std::size_t count = port_->poll(batch)) seen.insert(seen.end(), batch, batch + count);
}

namespace {

template <typename Wanted>
std::optional<Completion> take_first(std::deque<Completion>& seen, Wanted wanted) {
  const auto found = std::find_if(seen.begin(), seen.end(), wanted);
  if (found == seen.end()) return std::nullopt;
  const Completion taken = *found;
  seen.erase(found);
  return taken;
}

// How long nothing need be done, unless a port rings.
std::uint64_t quiet_ms(DrivenPorts ports) {
  std::uint64_t due_ns = kNoDeadline;
  for (const DrivenPort* port : ports) due_ns = std::min(due_ns, (*port)->next_deadline_ns());
  if (due_ns == kNoDeadline) return UINT64_MAX;
  const std::uint64_t now_ns = monotonic_ns();
  return due_ns > now_ns ? (due_ns - now_ns) / kNsPerMs + 1 : 0;
}

void sleep_until_rung(DrivenPorts ports) {
  std::vector<pollfd> waits;
  for (const DrivenPort* port : ports) waits.push_back({(*port)->wait_fd(), POLLIN, 0});
  const std::uint64_t wait_ms = quiet_ms(ports);
  const bool for_ever = wait_ms >= static_cast<std::uint64_t>(kHangLimitMs);
  const int ready = ::poll(waits.data(), waits.size(), for_ever ? kHangLimitMs : static_cast<int>(wait_ms));
  require(ready > 0 || !for_ever, "nothing happened for a long time");
}

}  // namespace

std::optional<Completion> DrivenPort::take(CompletionKind kind) {
  return take_first(seen, [kind](const Completion& one) { return one.kind == kind; });
}

std::optional<Completion> DrivenPort::take(CompletionKind kind, std::uint64_t link) {
  return take_first(seen,
                    [kind, link](const Completion& one) { return one.kind == kind && one.link == link; });
}

void drive_until(DrivenPorts ports, const std::function<bool()>& done) {
  for (;;) {
    for (DrivenPort* port : ports) port->turn();
    if (done()) return;
    bool quiet = true;
    for (const DrivenPort* port : ports) quiet = (*port)->arm() && quiet;
    if (quiet) sleep_until_rung(ports);
    for (const DrivenPort* port : ports) (*port)->disarm();
  }
}

Completion await(DrivenPorts ports, DrivenPort& where, CompletionKind kind, std::uint64_t link) {
  std::optional<Completion> found;
  drive_until(ports, [&] {
    found = where.take(kind, link);
    return found.has_value();
  });
  return *found;
}

}  // namespace exs::test
