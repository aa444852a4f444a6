// The limits after which a link takes silence for the death of the other end.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <string_view>

#include "service/names/address.h"
#include "service/node/link.h"

namespace exs::svc {
namespace {

// For acceptors: the initiator probes more often, which shows that it is alive, and nobody else probes an idle link. For bulks and lanes:
// a moving item delays their probes, and their link notices sooner.
constexpr int kLongSilentMs = 6'000;
// An address of this host may be that of a forwarder, which lives on when the host behind it has vanished.
constexpr int kHereSilentMs = 60'000;

}  // namespace

bool is_by_shm(int socket) {
  std::array<char, 64> provider{};
  socklen_t length = provider.size() - 1;
  exs_getsockopt(socket, SOL_EXS, EXS_SO_PROVIDER, provider.data(), &length);
  return std::string_view(provider.data()) == "shm";
}

// Called once the connection stands. Exs reports silence after two to three periods.
void Link::watch_silence() {
  const bool shares_memory = is_by_shm(socket_);
  const bool asks_often = is_initiator_ && !is_partner();
  const int silent_ms = is_on_this_host_ ? kHereSilentMs
                        : asks_often     ? silent_ms_ << silent_doublings_
                                         : kLongSilentMs;
  is_on_this_host_ = is_on_this_host_ || shares_memory;
  const int period_ms = shares_memory ? 0 : std::max(silent_ms / 3, 1);
  exs_setsockopt(socket_, SOL_EXS, EXS_SO_KEEPALIVE_MS, &period_ms, sizeof period_ms);
}

void Link::be_patient(unsigned doublings) {
  if (doublings <= silent_doublings_) return;
  silent_doublings_ = std::min(doublings, kDoublingsMax);
  if (state_ == State::kGreeting || state_ == State::kUp) watch_silence();
}

}  // namespace exs::svc
