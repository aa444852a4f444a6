#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"
#include "tools/crowd/crowd.h"

namespace crowd {
namespace {

constexpr std::uint32_t kAccepts = 16;
static_assert(kAccepts <= perf::kEventBatch);
constexpr std::int64_t kLookNs = 20'000'000;    // at the clients' answers, while no event comes
constexpr std::int64_t kQuietNs = 500'000'000;  // after all have answered: nothing is to come any more

}  // namespace

void CrowdFaults::note(const std::string& what, int error) {
  if (count++ == 0) first = what + ": " + std::generic_category().message(error);
}

void CrowdFaults::add(const CrowdFaults& others) {
  if (count == 0) first = others.first;
  count += others.count;
}

CrowdServer::CrowdServer(const CrowdSettings& settings)
    : settings_(settings),
      // Each connection has one operation under way.
      queue_(static_cast<int>(settings.connections + perf::kEventBatch), perf::Wait::adaptive),
      slots_(settings.size_bytes, settings.connections, perf::MemoryKind::plain),
      peers_(settings.connections),
      listener_(perf::listen_on(settings.address, 0, perf::wishes_of_client(settings.provider, {}))) {
  for (Peer& peer : peers_) free_peers_.push_back(&peer);
  for (std::uint32_t i = 0; i < kAccepts; ++i) post_accept();
}

void CrowdServer::post_accept() {
  if (exs_accept(listener_.descriptor(), nullptr, 0, queue_.handle(), nullptr) == -1)
    tools::fail("exs_accept", errno);
}

void CrowdServer::serve(std::vector<std::unique_ptr<CrowdClients>>& clients, std::uint32_t open,
                        std::uint64_t echoed) {
  std::array<exs_event_t, perf::kEventBatch> events;
  std::int64_t quiet_ns = 0;
  for (;;) {
    const std::size_t taken = queue_.take(events, kLookNs);
    for (std::size_t i = 0; i < taken; ++i) handle(events[i]);
    if (tools::interrupted()) throw tools::Failure("interrupted");
    quiet_ns = taken > 0 ? 0 : quiet_ns + kLookNs;
    const bool done = open_ == open && echoed_ == echoed;
    if (!done && taken > 0) continue;
    const bool answered =
        std::all_of(clients.begin(), clients.end(), [](auto& process) { return process->has_answered(); });
    if (answered && (done || quiet_ns >= kQuietNs)) return;
    if (quiet_ns >= kCrowdPatienceNs) throw tools::Failure("nothing came from the clients for 30 s");
  }
}

void CrowdServer::handle(const exs_event_t& event) {
  if (event.exs_evt_type == EXS_EVT_ACCEPT) {
    accepted(event);
  } else {
    transferred(*static_cast<Peer*>(event.exs_evt_ahandle), event);
  }
}

void CrowdServer::accepted(const exs_event_t& event) {
  post_accept();
  if (event.exs_evt_errno != 0 || free_peers_.empty()) {
    faults_.note("exs_accept", event.exs_evt_errno != 0 ? event.exs_evt_errno : EMFILE);
    return;
  }
  Peer& peer = *free_peers_.back();
  free_peers_.pop_back();
  peer = {event.exs_evt_union.exs_evt_accept.exs_evt_newsocket, true};
  ++open_;
  const auto number = static_cast<std::size_t>(peer.socket);
  if (numbers_.size() <= number) numbers_.resize(number + 1);
  numbers_[number] = true;
  if (provider_ == "none") provider_ = perf::provider_of(peer.socket);
  post(peer, settings_.size_bytes);
}

void CrowdServer::transferred(Peer& peer, const exs_event_t& event) {
  const std::size_t length_bytes = event.exs_evt_union.exs_evt_xfer.exs_evt_length;
  if ((event.exs_evt_flags & EXS_EVF_EOF) != 0) {
    drop(peer);
  } else if (event.exs_evt_errno != 0 || (event.exs_evt_flags & EXS_EVF_TRUNC) != 0) {
    faults_.note(peer.receiving ? "a receive of the server" : "a send of the server",
                 event.exs_evt_errno != 0 ? event.exs_evt_errno : EMSGSIZE);
    drop(peer);
  } else {
    if (!peer.receiving) ++echoed_;
    peer.receiving = !peer.receiving;
    post(peer, peer.receiving ? settings_.size_bytes : length_bytes);
  }
}

void CrowdServer::post(Peer& peer, std::size_t length_bytes) {
  std::byte* const buffer = slots_.slot(static_cast<std::uint64_t>(&peer - peers_.data())).data();
  const int result =
      peer.receiving
          ? exs_recv(peer.socket, buffer, length_bytes, 0, queue_.handle(), &peer, slots_.region())
          : exs_send(peer.socket, buffer, length_bytes, 0, queue_.handle(), &peer, slots_.region());
  if (result == 0) return;
  faults_.note(peer.receiving ? "exs_recv" : "exs_send", errno);
  drop(peer);
}

void CrowdServer::drop(Peer& peer) {
  if (exs_close(peer.socket) == -1) faults_.note("exs_close of the server", errno);
  peer.socket = -1;
  --open_;
  free_peers_.push_back(&peer);
}

std::size_t CrowdServer::open_sockets() const {
  std::size_t count = 0;
  for (std::size_t number = 0; number < numbers_.size(); ++number) {
    exs_stats_t stats{};
    stats.struct_bytes = sizeof stats;
    if (numbers_[number] && exs_getstats(static_cast<int>(number), &stats) == 0) ++count;
  }
  return count;
}

}  // namespace crowd
