// SPDX-License-Identifier: BSD-2-Clause
#include "event/message/peer.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/contain.h"
#include "base/unique_fd.h"
#include "event/message/endpoint.h"
#include "src/log/log.h"

namespace exs {
namespace {

// Longer messages are read when they are matched, which is faster than to copy them twice. Where processes share processors each of the
// three hops of a READ is a change of process, and all travels at once that may.
struct EagerMost {
  std::string_view provider;
  std::size_t bytes;
  std::size_t crowded_bytes;
};
constexpr std::size_t kAllThatMay = SIZE_MAX;  // by the agreement
constexpr EagerMost kEagerMost[] = {{"shm", 8192, kAllThatMay}, {"verbs", 4096, 4096}};

// How soon a rank that does not listen yet is asked again.
constexpr std::uint64_t kTryAgainNs = 20'000'000;

std::size_t eager_most(std::string_view provider, bool is_crowded) {
  for (const EagerMost& most : kEagerMost) {
    if (most.provider == provider) return is_crowded ? most.crowded_bytes : most.bytes;
  }
  return kAllThatMay;
}

// Why connections break; a request says of each that its rank has died.
bool is_of_connection(int error) {
  switch (error) {
    case ETIMEDOUT:
    case EPROTO:
    case ECONNABORTED:
    case ECONNREFUSED:
    case ENOTCONN:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTUNREACH: return true;
    default: return false;
  }
}

Request& request_of(const proto::Operation& operation) {
  return *static_cast<Request*>(operation.tag.handle);
}

}  // namespace

class Peer::Errand final : public Task {
 public:
  Errand(Peer& peer, void (Peer::*act)()) : peer_(peer), act_(act) {}
  void keep_endpoint(std::shared_ptr<Endpoint> endpoint) noexcept { endpoint_ = std::move(endpoint); }
  // The session lives until the errand has been done.
  void keep_session(std::shared_ptr<LinkSession> session) noexcept { session_ = std::move(session); }
  void run(Shard& /*shard*/) override { (peer_.*act_)(); }

 private:
  Peer& peer_;
  void (Peer::*const act_)();
  std::shared_ptr<Endpoint> endpoint_;  // which has the peer; from keep_endpoint() on
  std::shared_ptr<LinkSession> session_;
};

Peer::Errands::Errands(Peer& peer)
    : connected(std::make_unique<Errand>(peer, &Peer::send_delayed)),
      left(std::make_unique<Errand>(peer, &Peer::leave_peer)),
      ended(std::make_unique<Errand>(peer, &Peer::connect_again)) {}

Peer::Peer(Endpoint& endpoint, std::uint32_t rank) : endpoint_(endpoint), rank_(rank) {}

Peer::~Peer() = default;

// ---------------------------------------------------------------- the connection

void Peer::do_later(std::unique_ptr<Errand> errand) noexcept {
  errand->keep_endpoint(endpoint_.shared_from_this());
  endpoint_.shard()->execute(std::move(errand));
}

void Peer::connect() noexcept {
  contain([&] { try_to_connect(); }, [&] { not_connected(ENOMEM); });
}

// The fault is of ours alone.
void Peer::not_connected(int error) {
  state_ = State::kUnknown;  // the next send tries again
  end_delayed(error);
}

void Peer::try_to_connect() {
  const sockaddr_storage* const known = endpoint_.address_of(rank_);
  if (known == nullptr) return not_connected(EHOSTUNREACH);  // it came by itself, and has never been named
  const sockaddr_storage& address = *known;
  auto opened = endpoint_.options().open_socket(address.ss_family);
  if (!opened) return not_connected(opened.error().error());
  const SessionOptions options = endpoint_.session_options(rank_);
  auto session =
      std::make_shared<LinkSession>(endpoint_.shard(), KernelDescriptor::own(std::move(*opened)), options);
  errands_.emplace(*this);
  if (state_ == State::kUnknown)
    connect_until_ns_ = endpoint_.shard()->clock().deadline_after(options.connect_limit_ns);
  state_ = State::kConnecting;
  session_ = std::move(session);
  session_->serve(*this);
  session_->connect(address, address_bytes(*as_sockaddr(address)), {});
}

void Peer::await(std::uint64_t at_ns) {
  endpoint_.shard()->assert_held();
  contain([&] { alarm_.set(*endpoint_.shard(), at_ns, endpoint_.shared_from_this()); },
          [&] { not_connected(ENOMEM); });
}

bool Peer::may_try_again() const {
  return endpoint_.shard()->clock().now_ns() + kTryAgainNs < connect_until_ns_;
}

// The other has not asked in time, or it is time to ask again.
void Peer::alarm() {
  if (state_ == State::kAway) return connect();
  die(Status(ETIMEDOUT));
}

void Peer::turn_down(AcceptableRequest request, int why) const {
  request.request->reject(proto::make_rejection(why).view());
}

void Peer::take(AcceptableRequest request, const Reason& why_no_device) {
  const bool connects = state_ == State::kConnecting;
  if (connects && endpoint_.comes_before(rank_)) return turn_down(std::move(request), EALREADY);
  if (!connects && state_ != State::kUnknown && state_ != State::kExpected && state_ != State::kAway)
    return turn_down(std::move(request), ECONNREFUSED);
  const SessionOptions options = endpoint_.session_options(rank_);
  // What needs memory comes before any change.
  Errands errands(*this);
  auto session = std::make_shared<LinkSession>(
      endpoint_.shard(), KernelDescriptor::own(UniqueFd(request.request->release_descriptor())), options);
  if (connects) drop_session();
  errands_ = std::move(errands);
  alarm_.drop();
  state_ = State::kAccepting;
  session_ = std::move(session);
  session_->serve(*this);
  session_->accept(std::move(request), why_no_device, [this](Status status) {
    if (status.ok()) connected();
  });
}

void Peer::drop_session() {
  filled(false);
  session_->leave_end();
  session_->abort(Status(ECANCELED));
  session_.reset();
}

void Peer::connected() {
  state_ = State::kConnected;
  do_later(std::move(errands_->connected));
}

void Peer::send_delayed() {
  if (state_ != State::kConnected) return;
  const EndpointOptions& options = endpoint_.options();
  const std::size_t wish = options.eager_bytes;
  const std::size_t most = wish != 0 ? wish : eager_most(session_->carrier(), options.spin_ns == 0);
  session_->with_connection([most](proto::Connection& connection) { connection.set_eager_max(most); });
  while (state_ == State::kConnected && !delayed_.empty())
    session_->post_tagged(delayed_.pop_front()->operation);
  if (state_ == State::kConnected && closing_ns_ != 0) session_->close(std::exchange(closing_ns_, 0), {});
}

void Peer::left() {
  do_later(std::move(errands_->left));
  gone(EPIPE);
}

// All that the peer has sent is here, and it would take nothing more of ours.
void Peer::leave_peer() {
  constexpr std::uint64_t kLeaveNs = 1'000'000'000;
  if (session_) session_->close(kLeaveNs, {});
}

void Peer::ended(Status why) {
  filled(false);
  endpoint_.forget_adverts(*this);
  const std::string words = failure_words();
  auto errand = std::move(errands_->ended);
  errand->keep_session(std::move(session_));
  do_later(std::move(errand));
  if (state_ == State::kConnecting && why == Status(ENOMEM)) {
    not_connected(ENOMEM);
  } else if (state_ == State::kConnecting && why == Status(EALREADY)) {
    state_ = State::kExpected;
    await(connect_until_ns_);
  } else if (state_ == State::kConnecting && why == Status(ECONNREFUSED) && may_try_again()) {
    state_ = State::kAway;
    await(endpoint_.shard()->clock().now_ns() + kTryAgainNs);
  } else if (state_ == State::kAccepting) {
    state_ = State::kUnknown;
  } else {
    // The peer may have received everything, but that is unknown.
    if (state_ == State::kConnected && is_closing_ && why == Status(ETIMEDOUT))
      endpoint_.note_loss(rank_, ETIMEDOUT);
    if (!words.empty()) log(LogLevel::kWarn, "rank {} is not reached: {}", rank_, words);
    // A rank that was never reached has not left.
    const bool has_left = why.ok() || (is_closing_ && state_ != State::kConnecting);
    gone(has_left ? EPIPE : ECONNRESET);
  }
}

// It had asked, and we had turned our own request down.
void Peer::connect_again() {
  if (state_ == State::kUnknown && !delayed_.empty()) connect();
}

// Empty: none are needed, or there is no memory for them.
std::string Peer::failure_words() const noexcept {
  std::string words;
  if (state_ == State::kConnecting) contain([&] { words = session_->failure_words(); }, [] {});
  return words;
}

void Peer::die(Status why) {
  log(LogLevel::kWarn, "rank {} has died: {}", rank_, std::strerror(why.error()));
  if (session_) session_->abort(Status(ECONNRESET));  // ends pending operations, and this session
  endpoint_.forget_adverts(*this);
  gone(ECONNRESET);
}

void Peer::gone(int error) {
  filled(false);
  // The peer had left before. Now its connection is over, too, and threads may wait for that.
  if (state_ == State::kGone) return endpoint_.ring_watchers();
  state_ = State::kGone;
  error_ = error;
  alarm_.drop();
  end_delayed(error);
  endpoint_.peer_gone(*this, error);
}

void Peer::end_delayed(int error) {
  while (!delayed_.empty()) end_in_vain(*delayed_.pop_front(), error);
}

// The peer's last bytes may be in transit. Its connection reports their end. If another process holds that
// connection open, the peer's silence does.
void Peer::note_death() {
  constexpr std::uint64_t kSilenceNs = 300'000'000;
  if (state_ == State::kGone) return;
  if (state_ != State::kConnected && state_ != State::kAccepting) return die(Status(ECONNRESET));
  session_->set_keepalive(kSilenceNs);
}

void Peer::close(std::uint64_t limit_ns) {
  is_closing_ = true;
  if (state_ == State::kConnected && delayed_.empty()) return session_->close(limit_ns, {});
  if (!delayed_.empty()) {
    closing_ns_ = limit_ns;
  } else if (session_ && state_ != State::kGone) {
    drop_session();
    gone(EPIPE);
  }
}

// ---------------------------------------------------------------- sends

void Peer::post(Request& send) {
  if (error_ != 0) return endpoint_.end(send, error_);
  if (state_ == State::kConnected && delayed_.empty()) return session_->post_tagged(send.operation);
  delayed_.push_back(&send);
  if (state_ == State::kUnknown) connect();
}

void Peer::cancel(Request& send) {
  for (std::size_t i = 0; i < delayed_.count(); ++i) {
    if (delayed_[i] != &send) continue;
    delayed_.take(i);
    return endpoint_.end(send, ECANCELED);
  }
  if (!session_) return;
  session_->with_connection([&](proto::Connection& connection) {
    proto::Selection selection;
    selection.any_handle = false;
    selection.handle = &send;
    connection.cancel(proto::Direction::kSend, selection, ECANCELED);
  });
}

void Peer::completed(const proto::Operation& operation, const proto::Outcome& outcome) {
  Request& request = request_of(operation);
  if (outcome.error != 0)
    return end_in_vain(request, is_of_connection(outcome.error) ? ECONNRESET : outcome.error);
  if (request.kind == Request::Kind::kReceive) return endpoint_.end_received(request);
  const bool is_eager = (outcome.flags & proto::kImmediate) != 0;
  ++(is_eager ? endpoint_.counters().eager_sends : endpoint_.counters().rendezvous_sends);
  endpoint_.end(request, 0);
}

// ECANCELED: requested, or time is up, which ended() reports.
void Peer::end_in_vain(Request& request, int error) {
  if (request.kind == Request::Kind::kSend && error != ECANCELED) endpoint_.note_loss(rank_, error);
  endpoint_.end(request, error);
}

}  // namespace exs
