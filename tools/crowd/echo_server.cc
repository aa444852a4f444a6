// SPDX-License-Identifier: BSD-2-Clause
#include "tools/crowd/echo_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/common/sockets.h"

namespace crowd {
namespace {

// The interval at which the server checks whether the clients have finished or ended.
constexpr std::int64_t kPollNs = 20'000'000;
// If the clients have finished and no event arrives for this long, none is expected any more.
constexpr std::int64_t kQuietNs = 500'000'000;
constexpr int kBacklog = 128;

exs::cpp::Socket open_listener(const Settings& settings) {
  using exs::cpp::Socket;
  Socket socket = tools::try_to("cannot open a socket", [] { return Socket::create(); });
  tools::set_provider(socket, settings.provider);
  tools::listen_at(socket, exs::cpp::Address(settings.address, 0), kBacklog, settings.address + ", port 0");
  return socket;
}

}  // namespace

EchoServer::EchoServer(const Settings& settings)
    : settings_(settings),
      // Each connection has one pending operation, and each buffer of a pool an event or a send.
      queue_(static_cast<int>(settings.connections + settings.pool + kEventBatch)),
      slots_(settings.size_bytes, settings.pool == 0 ? settings.connections : settings.pool,
             tools::MemoryKind::plain),
      peers_(settings.connections),
      listener_(open_listener(settings)) {
  for (Peer& peer : peers_) free_peers_.push_back(&peer);
  if (settings.pool > 0) pool_.emplace(slots_.bytes(), settings.pool, slots_.region());
  if (const auto accept = listener_.accept_all({queue_.handle()}); !accept)
    tools::fail("exs_accept", accept.error.value());
}

void EchoServer::serve(std::vector<std::unique_ptr<ClientProcess>>& clients, const Goal& goal,
                       Progress& progress) {
  std::array<exs_event_t, kEventBatch> events;
  std::uint64_t last_event_ns = exs::monotonic_ns();
  std::uint64_t next_look_ns = last_event_ns + kPollNs;
  for (;;) {
    const std::span<const exs_event_t> taken = wait_for_events(queue_, events, kPollNs);
    for (const exs_event_t& event : taken) handle(event);
    const std::uint64_t at_ns = exs::monotonic_ns();
    if (!taken.empty()) last_event_ns = at_ns;
    progress.update(done_of(goal), at_ns);
    const bool reached = is_reached(goal);
    if (!reached && at_ns < next_look_ns) continue;
    next_look_ns = at_ns + kPollNs;
    const bool finished = std::all_of(clients.begin(), clients.end(),
                                      [](auto& process) { return process->has_finished_phase(); });
    if (finished && (reached || at_ns - last_event_ns >= kQuietNs)) return;
    if (at_ns - last_event_ns >= kSilenceMaxNs)
      throw tools::Failure("nothing came from the clients for 30 s");
  }
}

bool EchoServer::is_reached(const Goal& goal) const {
  return open_ == (goal.phase == Phase::close ? 0 : goal.connections) && echoed_ == goal.echoed;
}

std::uint64_t EchoServer::done_of(const Goal& goal) const {
  switch (goal.phase) {
    case Phase::connect: return open_;
    case Phase::exchange: return echoed_;
    case Phase::close: return goal.connections - open_;
  }
  return 0;
}

void EchoServer::handle(const exs_event_t& event) {
  auto* const peer = static_cast<Peer*>(event.exs_evt_ahandle);
  if (event.exs_evt_type == EXS_EVT_ACCEPT) {
    on_accept(event);
  } else if (!pool_) {
    on_transfer(*peer, event);
  } else if (event.exs_evt_type == EXS_EVT_RECV) {
    on_message(*peer, event);
  } else {
    on_returned(event);
  }
}

void EchoServer::on_accept(const exs_event_t& event) {
  if (event.exs_evt_errno != 0 || free_peers_.empty()) {
    errors_.note("exs_accept", event.exs_evt_errno != 0 ? event.exs_evt_errno : EMFILE);
    return;
  }
  Peer& peer = *free_peers_.back();
  free_peers_.pop_back();
  peer = {exs::cpp::Socket(exs_event_new_socket(&event)), true};
  ++open_;
  const auto descriptor = static_cast<std::size_t>(peer.socket.number());
  if (descriptors_.size() <= descriptor) descriptors_.resize(descriptor + 1);
  descriptors_[descriptor] = true;
  if (provider_ == "none") provider_ = peer.socket.provider();
  if (pool_) {
    start_receiving(peer);
  } else {
    post(peer, settings_.size_bytes);
  }
}

void EchoServer::start_receiving(Peer& peer) {
  const exs::cpp::Outcome receive = peer.socket.recv_pooled(pool_->handle(), {queue_.handle(), &peer});
  if (receive) return;
  errors_.note("exs_recv_pooled", receive.error.value());
  drop(peer);
}

void EchoServer::on_message(Peer& peer, const exs_event_t& event) {
  if ((event.exs_evt_flags & EXS_EVF_MORE) == 0) {
    if (event.exs_evt_errno != 0) errors_.note("a receive of the server", event.exs_evt_errno);
    return drop(peer);
  }
  const std::span bytes(static_cast<const std::byte*>(exs_event_buffer(&event)), exs_event_bytes(&event));
  const exs::cpp::Outcome send = peer.socket.send(bytes, {queue_.handle()}, slots_.region());
  if (send) return;
  errors_.note("exs_send", send.error.value());
  pool_->give_back(event);
}

void EchoServer::on_returned(const exs_event_t& event) {
  if (event.exs_evt_errno != 0) errors_.note("a send of the server", event.exs_evt_errno);
  if (event.exs_evt_errno == 0) ++echoed_;
  pool_->give_back(event);
}

void EchoServer::on_transfer(Peer& peer, const exs_event_t& event) {
  const std::size_t length_bytes = exs_event_bytes(&event);
  if ((event.exs_evt_flags & EXS_EVF_EOF) != 0) {
    drop(peer);
  } else if (event.exs_evt_errno != 0 || (event.exs_evt_flags & EXS_EVF_TRUNC) != 0) {
    errors_.note(peer.receiving ? "a receive of the server" : "a send of the server",
                 event.exs_evt_errno != 0 ? event.exs_evt_errno : EMSGSIZE);
    drop(peer);
  } else {
    if (!peer.receiving) ++echoed_;
    peer.receiving = !peer.receiving;
    post(peer, peer.receiving ? settings_.size_bytes : length_bytes);
  }
}

void EchoServer::post(Peer& peer, std::size_t length_bytes) {
  const std::span<std::byte> buffer =
      slots_.slot(static_cast<std::uint64_t>(&peer - peers_.data())).first(length_bytes);
  const exs::cpp::Socket::Target target{queue_.handle(), &peer};
  const exs::cpp::Outcome post = peer.receiving ? peer.socket.recv(buffer, target, slots_.region())
                                                : peer.socket.send(buffer, target, slots_.region());
  if (post) return;
  errors_.note(peer.receiving ? "exs_recv" : "exs_send", post.error.value());
  drop(peer);
}

void EchoServer::drop(Peer& peer) {
  if (const auto close = peer.socket.close(); !close)
    errors_.note("exs_close of the server", close.error.value());
  --open_;
  free_peers_.push_back(&peer);
}

std::size_t EchoServer::open_sockets() const {
  std::size_t count = 0;
  for (std::size_t descriptor = 0; descriptor < descriptors_.size(); ++descriptor) {
    exs_stats_t stats{};
    stats.struct_bytes = sizeof stats;
    if (descriptors_[descriptor] && exs_getstats(static_cast<int>(descriptor), &stats) == 0) ++count;
  }
  return count;
}

}  // namespace crowd
