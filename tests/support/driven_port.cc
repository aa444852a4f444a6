// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/driven_port.h"

#include <poll.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace exs::test {

namespace {

std::unique_ptr<Port> open_port(Provider& provider) {
  Reason why_not;
  auto opened = provider.open_port(why_not);
  require(opened.has_value(), std::string("open_port: ") + why_not.fact);
  return std::move(*opened);
}

template <typename Wanted>
std::optional<Completion> take_first(std::deque<Completion>& seen, Wanted wanted) {
  const auto found = std::find_if(seen.begin(), seen.end(), wanted);
  if (found == seen.end()) return std::nullopt;
  const Completion taken = *found;
  seen.erase(found);
  return taken;
}

// The time for which nothing is due, unless a port rings.
int quiet_ms(const DrivenPorts& ports) {
  std::uint64_t quiet_ns = kHangLimitMs * kNsPerMs;
  for (const DrivenPort* port : ports) {
    const std::uint64_t due_ns = (*port)->next_deadline_ns();
    const std::uint64_t now_ns = port->clock();
    quiet_ns = std::min(quiet_ns, due_ns > now_ns ? due_ns - now_ns : 0);
  }
  return static_cast<int>((quiet_ns + kNsPerMs - 1) / kNsPerMs);
}

}  // namespace

DrivenPort::DrivenPort(Provider& from) : provider_(from), port_(open_port(from)) {}

DrivenPort::DrivenPort(std::unique_ptr<Provider> own)
    : own_provider_(std::move(own)), provider_(*own_provider_), port_(open_port(provider_)) {}

void DrivenPort::become_engine() {
  if (SingleIssuer* const issuer = port_->single_issuer()) issuer->bind_thread();
}

bool DrivenPort::turn() {
  const std::size_t before = seen.size();
  port_->flush();
  port_->progress(clock());
  collect();
  return seen.size() != before;
}

void DrivenPort::collect() {
  Completion batch[7];  // odd and small: poll() must cope with any room
  while (const std::size_t count = port_->poll(batch)) seen.insert(seen.end(), batch, batch + count);
}

std::optional<Completion> DrivenPort::take(CompletionKind kind) {
  return take_first(seen, [kind](const Completion& one) { return one.kind == kind; });
}

std::optional<Completion> DrivenPort::take(CompletionKind kind, std::uint64_t link) {
  return take_first(seen,
                    [kind, link](const Completion& one) { return one.kind == kind && one.link == link; });
}

std::string DrivenPort::history(std::uint64_t link) const {
  std::string text;
  for (const Completion& completion : seen) {
    if (completion.link != link) continue;
    text += "SRrWEDQwU"[static_cast<int>(completion.kind)];
    text += std::to_string(completion.token) + ":" + std::to_string(completion.status.error()) + " ";
  }
  return text;
}

void drive_until(const DrivenPorts& ports, const std::function<bool()>& done) {
  std::uint64_t hangs_ns = monotonic_ns() + kHangLimitMs * kNsPerMs;
  std::vector<pollfd> waits;
  for (const DrivenPort* port : ports) waits.push_back({(*port)->wait_fd(), POLLIN, 0});
  for (;;) {
    bool some = false;
    for (DrivenPort* port : ports) some = port->turn() || some;
    if (done()) return;
    const std::uint64_t now_ns = monotonic_ns();
    if (some) hangs_ns = now_ns + kHangLimitMs * kNsPerMs;
    require(now_ns < hangs_ns, "nothing happened for a long time");
    bool quiet = true;
    for (const DrivenPort* port : ports) quiet = (*port)->arm() && quiet;
    if (quiet) ::poll(waits.data(), waits.size(), quiet_ms(ports));
    for (const DrivenPort* port : ports) (*port)->disarm();
  }
}

Completion await(const DrivenPorts& ports, DrivenPort& where, CompletionKind kind, std::uint64_t link) {
  std::optional<Completion> found;
  drive_until(ports, [&] {
    found = where.take(kind, link);
    return found.has_value();
  });
  return *found;
}

}  // namespace exs::test
