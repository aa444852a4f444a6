#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"
#include "tools/crowd/crowd.h"

namespace crowd {
namespace {

constexpr std::uint32_t kAccepts = 16;
static_assert(kAccepts <= kEventBatch);
constexpr std::int64_t kLookNs = 20'000'000;    // at the clients' answers, while no event comes
constexpr std::int64_t kQuietNs = 500'000'000;  // after all have answered: nothing is to come any more

constexpr int kBacklog = 128;

exs::cpp::Socket listen_for(const CrowdSettings& settings) {
  using exs::cpp::Socket;
  const std::string name = settings.address + ", port 0";
  Socket socket = tools::try_to("cannot open a socket", [] { return Socket::create(); });
  try {
    socket.set_text_option(EXS_SO_PROVIDER, settings.provider);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::not_supported)
      throw tools::Failure("provider " + settings.provider + ": not in this build of exs; try auto");
    tools::fail("provider " + settings.provider, error.code().value());
  }
  tools::try_to("cannot serve on " + name, [&] { socket.bind(exs::cpp::Address(settings.address, 0)); });
  tools::try_to("cannot listen on " + name, [&] { socket.listen(kBacklog); });
  return socket;
}

}  // namespace

std::span<const exs_event_t> take(const exs::cpp::Queue& queue, std::span<exs_event_t> room,
                                  std::int64_t timeout_ns) {
  const auto taken = queue.wait(room, 1, std::chrono::nanoseconds(timeout_ns));
  if (taken.error && taken.error != std::errc::interrupted)
    tools::fail("cannot wait for events", taken.error.value());
  return taken.events;
}

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
      queue_(static_cast<int>(settings.connections + kEventBatch)),
      slots_(settings.size_bytes, settings.connections, tools::MemoryKind::plain),
      peers_(settings.connections),
      listener_(listen_for(settings)) {
  for (Peer& peer : peers_) free_peers_.push_back(&peer);
  for (std::uint32_t i = 0; i < kAccepts; ++i) post_accept();
}

void CrowdServer::post_accept() {
  if (const std::error_code error = listener_.accept({queue_.handle()}))
    tools::fail("exs_accept", error.value());
}

void CrowdServer::serve(std::vector<std::unique_ptr<CrowdClients>>& clients, std::uint32_t open,
                        std::uint64_t echoed) {
  std::array<exs_event_t, kEventBatch> events;
  std::int64_t quiet_ns = 0;
  for (;;) {
    const std::span<const exs_event_t> taken = take(queue_, events, kLookNs);
    for (const exs_event_t& event : taken) handle(event);
    if (tools::interrupted()) throw tools::Failure("interrupted");
    quiet_ns = !taken.empty() ? 0 : quiet_ns + kLookNs;
    const bool done = open_ == open && echoed_ == echoed;
    if (!done && !taken.empty()) continue;
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
  peer = {exs::cpp::Socket(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket), true};
  ++open_;
  const auto number = static_cast<std::size_t>(peer.socket.number());
  if (numbers_.size() <= number) numbers_.resize(number + 1);
  numbers_[number] = true;
  if (provider_ == "none") provider_ = peer.socket.provider();
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
  const std::span<std::byte> buffer =
      slots_.slot(static_cast<std::uint64_t>(&peer - peers_.data())).first(length_bytes);
  const exs::cpp::Socket::Target target{queue_.handle(), &peer};
  const std::error_code error = peer.receiving ? peer.socket.recv(buffer, target, slots_.region())
                                               : peer.socket.send(buffer, target, slots_.region());
  if (!error) return;
  faults_.note(peer.receiving ? "exs_recv" : "exs_send", error.value());
  drop(peer);
}

void CrowdServer::drop(Peer& peer) {
  if (const std::error_code error = peer.socket.close())
    faults_.note("exs_close of the server", error.value());
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
