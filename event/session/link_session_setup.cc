// How a session finds what carries it: the ways a connect tries, one after the other, and the answer that an
// incoming request gets. Which way is worth a try is for the route to say.
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "event/session/address.h"
#include "event/session/link_session.h"
#include "src/base/kernel.h"
#include "src/base/log.h"
#include "src/wire/paths.h"

namespace exs {
namespace {

// A device gets this part of the time where the network is to be tried after it.
constexpr std::uint64_t kDevicePart = 2;

// "socket 7 to 127.0.0.1:4711"; without the peer where that is not known any more.
std::string name_of_connection(int socket, const char* direction, const sockaddr_storage* known_peer) {
  std::string name = "socket " + std::to_string(socket);
  sockaddr_storage peer{};
  if (known_peer != nullptr) peer = *known_peer;
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  auto* const generic = reinterpret_cast<sockaddr*>(&peer);
  socklen_t length = known_peer != nullptr ? address_bytes(*generic) : socklen_t{sizeof peer};
  if ((known_peer == nullptr && kernel::getpeername(socket, generic, &length) != 0) ||
      ::getnameinfo(generic, length, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) !=
          0)
    return name;
  const bool has_colons = peer.ss_family == AF_INET6;
  return name + " " + direction + (has_colons ? " [" : " ") + host + (has_colons ? "]:" : ":") + port;
}

// The most that any peer can make of our wishes: what a link must be ready for before the peer has spoken.
proto::Agreement widest(const proto::Wishes& wishes) {
  return {.version = 0,
          .send_credits = wishes.send_credits,
          .receive_credits = wishes.receive_credits,
          .small_bytes = wishes.small_bytes,
          .reads_out = wishes.read_depth,
          .reads_in = wishes.read_depth};
}

// The rest of the private data is about providers.
std::span<const std::byte> hello_part(std::span<const std::byte> private_data) {
  return private_data.first(std::min(private_data.size(), wire::kPathsOffset));
}

// What a connect left in the socket must not bind the next way.
void forget_connect(int socket) {
  sockaddr none{};
  none.sa_family = AF_UNSPEC;
  [[maybe_unused]] const int done = kernel::connect(socket, &none, sizeof none);
}

}  // namespace

// ---------------------------------------------------------------- the connecting side

void LinkSession::connect(const sockaddr_storage& peer, socklen_t peer_bytes, ControlTarget target) {
  connect_target_ = std::move(target);
  set_state(State::kConnecting);
  token_ = shard()->attach(std::static_pointer_cast<LinkSession>(shared_from_this()));
  outgoing_ = std::make_unique<Outgoing>();
  outgoing_->peer = peer;
  outgoing_->peer_bytes = peer_bytes;
  outgoing_->deadline_ns = deadline_after(options_.connect_limit_ns);
  route_.plan(*shard(), outgoing_->address());
  try_next_way();
}

void LinkSession::try_next_way() {
  while (const auto way = route_.next_way(*shard(), outgoing_->address())) {
    outgoing_->way = *way;
    const bool by_device = *way != kNetwork;
    const Status status = by_device ? connect_by_device() : connect_by_network();
    if (status.ok()) return;
    outgoing_->failed(status);
    if (by_device) {
      route_.device_failed(Reason::make(ReasonCode::kFailed, "connect: %s", std::strerror(status.error())),
                           false);
    } else if (status != Status(EOPNOTSUPP)) {
      return end(status);
    }
  }
  const Status outcome = outgoing_->outcome;
  if (outcome == Status(EOPNOTSUPP)) {
    log(LogLevel::kWarn,
        "socket %d: no provider that EXS_SO_PROVIDER or EXS_PROVIDER allows reaches the peer: EOPNOTSUPP; "
        "EXS_EXPLAIN=1 tells why",
        descriptor()->number());
  }
  end(outcome);
}

Status LinkSession::connect_by_device() {
  const auto greeting = hello();
  auto link = shard()
                  ->port(outgoing_->way)
                  ->connect(descriptor()->number(), &outgoing_->address(), outgoing_->peer_bytes,
                            {greeting.view(), proto::link_depths(widest(options_.wishes))}, token_);
  if (!link) return link.error();
  link_ = std::move(*link);
  const std::uint64_t part_ns = deadline_after(options_.connect_limit_ns / kDevicePart);
  arm(route_.has_other_way() ? std::min(part_ns, outgoing_->deadline_ns) : outgoing_->deadline_ns);
  return Status();
}

Status LinkSession::connect_by_network() {
  const auto data = route_.ask(*shard(), hello().view());
  if (!data) return data.error();
  auto link = shard()->port().connect(descriptor()->number(), &outgoing_->address(), outgoing_->peer_bytes,
                                      {*data, proto::link_depths(widest(options_.wishes))}, token_);
  if (!link) return link.error();
  link_ = std::move(*link);
  arm(outgoing_->deadline_ns);
  return Status();
}

// Another way may do where nobody was met on this one, or where the peer has no provider for it.
void LinkSession::way_failed(Status why) {
  if (!outgoing_) return end(why);
  const bool by_device = outgoing_->way != kNetwork;
  const Reason found = link_->why_not();
  const auto said = link_->private_data();
  const bool rejected = by_device ? found.code == ReasonCode::kNone && proto::is_rejection(said)
                                  : why == Status(ECONNREFUSED) && !said.empty();
  if (rejected) {
    why = proto::rejection_reason(said);
    route_.learn_refusal(said);
  }
  const bool for_want_of_provider = rejected && why == Status(EOPNOTSUPP);
  const bool nobody_met = !rejected && (by_device || why == Status(ECONNREFUSED));
  if (!for_want_of_provider && !nobody_met) return end(why);
  if (by_device && rejected) {
    route_.device_failed(Reason::make(ReasonCode::kForbidden, "by the peer"), true);
  } else if (by_device) {
    route_.device_failed(found.code != ReasonCode::kNone
                             ? found
                             : Reason::make(ReasonCode::kFailed, "%s", std::strerror(why.error())),
                         false);
  }
  leave_way(why);
}

void LinkSession::leave_way(Status why) {
  outgoing_->failed(why);
  if (!route_.has_other_way()) return end(outgoing_->outcome);
  drop_link();
  try_next_way();
}

// What the old link still has to say must not be taken for the next one's.
void LinkSession::drop_link() {
  link_->close();
  shard()->bury({std::move(link_), nullptr});
  shard()->detach(token_);
  token_ = shard()->attach(std::static_pointer_cast<LinkSession>(shared_from_this()));
  if (outgoing_->way != kNetwork) return;
  route_.take_meeting().reset();
  forget_connect(descriptor()->number());
}

bool LinkSession::device_is_slow(std::uint64_t now_ns) const {
  return outgoing_ && link_ && outgoing_->way != kNetwork && route_.has_other_way() &&
         now_ns < outgoing_->deadline_ns;
}

void LinkSession::give_up_device() {
  route_.device_failed(Reason::make(ReasonCode::kTimedOut, "no answer in half of the time for the connect"),
                       false);
  leave_way(Status(ETIMEDOUT));
}

void LinkSession::established() {
  const auto agreement = proto::agree(options_.wishes, hello_part(link_->private_data()));
  if (!agreement) return end(agreement.error());
  const auto taken = route_.learn(outgoing_->way, link_->private_data());
  if (!taken) return taken.error() == Status(EOPNOTSUPP) ? leave_way(taken.error()) : end(taken.error());
  arm(outgoing_->deadline_ns);
  if (*taken == kSameHost) {
    if (const Status status = change_link(*agreement); !status.ok()) return end(status);
  } else {
    settle_route(*taken, {});
  }
  outgoing_.reset();
  connection_ = std::make_unique<proto::Connection>(proto::Role::kInitiator, *agreement, *link_, *this);
  if (nodelay_) connection_->set_nodelay(true);
  if (const Status status = connection_->start(); !status.ok()) end(status);
}

// The network link has set the connection up; from here on it only tells whether the peer lives.
Status LinkSession::change_link(const proto::Agreement& agreement) {
  if (const Status status = link_->release(); !status.ok()) return status;
  auto meeting = route_.take_meeting();
  const Reason limit = meeting->why_not();
  const std::vector<std::byte> data(link_->private_data().begin(), link_->private_data().end());
  shard()->bury({std::move(link_), nullptr});
  auto link = shard()->port(kSameHost)->take_over(std::move(meeting), descriptor()->number(),
                                                  {data, proto::link_depths(agreement)}, token_);
  if (!link) return link.error();
  link_ = std::move(*link);
  settle_route(kSameHost, limit);
  return Status();
}

void LinkSession::end_connect(Status why) {
  if (connect_target_.queue) {
    const bool device_failed = outgoing_ && outgoing_->way != kNetwork && why != Status(ECANCELED);
    if (why == Status(EOPNOTSUPP) || device_failed) {
      route_.failed();
      tell_route(why.error());
    }
    push_control(connect_target_, EXS_EVT_CONNECT, why.error());
  }
  connect_target_ = {};
  outgoing_.reset();
}

// ---------------------------------------------------------------- the incoming side

void LinkSession::accept(std::unique_ptr<ConnectionRequest> request, const proto::Agreement& agreement,
                         const Reason& why_no_device, Accepted done) {
  token_ = shard()->attach(std::static_pointer_cast<LinkSession>(shared_from_this()));
  incoming_ = std::make_unique<Incoming>(Incoming{std::move(request), agreement, std::move(done), nullptr});
  take_request(route_.decide(*shard(), *incoming_->request, why_no_device));
}

void LinkSession::take_request(std::optional<ProviderId> way) {
  if (way == kSameHost) {
    const Status status = meet();
    if (status.ok()) return;  // kMet follows
    way = route_.fall_back(Reason::make(ReasonCode::kFailed, "%s", std::strerror(status.error())));
  }
  if (!way) return decline(Status(EOPNOTSUPP));
  if (const Status status = accept_as_it_came(); !status.ok()) return decline(status);
  accepted();
}

Status LinkSession::meet() {
  auto meeting = shard()->port(kSameHost)->meet(route_.peer_words(), token_);
  if (!meeting) return meeting.error();
  incoming_->meeting = std::move(*meeting);
  return Status();
}

void LinkSession::met(Status status) {
  if (!incoming_ || !incoming_->meeting) return;
  if (!status.ok()) return take_request(route_.fall_back(incoming_->meeting->why_not()));
  if (const Status failed = accept_by_meeting(); !failed.ok()) return decline(failed);
  accepted();
}

// What set the connection up carries it.
Status LinkSession::accept_as_it_came() {
  const ProviderId way = incoming_->request->provider();
  Port* const port = shard()->port(way);
  if (port == nullptr) return Status(EOPNOTSUPP);  // it could not be opened on this shard; logged then
  const auto data = route_.answer(hello().view(), way);
  auto link = port->accept(std::move(incoming_->request), descriptor()->number(),
                           {data, proto::link_depths(incoming_->agreement)}, token_);
  if (!link) return link.error();
  link_ = std::move(*link);
  settle_route(way, {});
  return Status();
}

Status LinkSession::accept_by_meeting() {
  const Reason limit = incoming_->meeting->why_not();
  const auto peer_data = incoming_->request->private_data();
  auto link =
      shard()->port(kSameHost)->take_over(std::move(incoming_->meeting), descriptor()->number(),
                                          {peer_data, proto::link_depths(incoming_->agreement)}, token_);
  if (!link) return link.error();
  link_ = std::move(*link);
  const Status granted = incoming_->request->grant(route_.answer(hello().view(), kSameHost));
  if (granted.ok()) settle_route(kSameHost, limit);
  return granted;
}

// The link stands; the peer may not know it yet.
void LinkSession::accepted() {
  const proto::Agreement agreement = incoming_->agreement;
  const Accepted done = std::move(incoming_->done);
  incoming_.reset();
  connection_ = std::make_unique<proto::Connection>(proto::Role::kResponder, agreement, *link_, *this);
  if (nodelay_) connection_->set_nodelay(true);
  if (const Status status = connection_->start(); !status.ok()) {
    end(status);
    return done(status);
  }
  set_small_bytes(agreement.small_bytes);
  set_state(State::kConnected);
  arm(deadline_after(options_.connect_limit_ns));  // until the peer's first message
  set_keepalive(options_.keepalive_ns);
  inherit_limit(proto::Direction::kSend, options_.send_limit);
  inherit_limit(proto::Direction::kReceive, options_.receive_limit);
  done(Status());
}

void LinkSession::decline(Status why) {
  if (incoming_->request) {
    incoming_->request->reject(route_.answer(proto::make_rejection(why.error()).view(), std::nullopt));
  }
  const Accepted done = std::move(incoming_->done);
  end(why);
  incoming_.reset();
  done(why);
}

// ---------------------------------------------------------------- both sides

void LinkSession::settle_route(ProviderId taken, const Reason& limit) {
  provider_ = taken;
  auto ends = std::make_unique<Ends>();
  if (link_->addresses(ends->ours, ends->peers)) ends_ = std::move(ends);
  route_.settled(*shard(), taken, limit);
  tell_route(0);
}

void LinkSession::tell_route(int error) {
  if (!is_explaining()) return;
  const sockaddr_storage* peer = ends_ ? &ends_->peers : nullptr;
  if (peer == nullptr && outgoing_) peer = &outgoing_->peer;
  tell(route_.explanation(), name_of_connection(descriptor()->number(), incoming_ ? "from" : "to", peer),
       error);
}

Explanation LinkSession::explanation() {
  Explanation found;
  shard()->inspect([&] { found = route_.explanation(); });
  return found;
}

const Session::Ends* LinkSession::ends() const noexcept {
  const State now = state();
  return now == State::kIdle || now == State::kConnecting ? nullptr : ends_.get();
}

}  // namespace exs
