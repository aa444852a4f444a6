#include "event/session/incoming_setup.h"

#include <cstring>

namespace exs {

IncomingSetup::IncomingSetup(const Context& context, std::unique_ptr<ConnectionRequest> request,
                             const proto::Agreement& agreement, Accepted done)
    : ConnectionSetup(context), request_(std::move(request)), agreement_(agreement), done_(std::move(done)) {}

void IncomingSetup::start(const Reason& why_no_device) {
  take_request(route().decide(shard(), *request_, why_no_device));
}

void IncomingSetup::complete(const Completion& completion) {
  if (completion.kind == CompletionKind::kMet) met(completion.status);
}

void IncomingSetup::take_request(std::optional<ProviderId> way) {
  if (way == kSameHost) {
    const Status status = meet();
    if (status.ok()) return;  // kMet follows
    way = route().fall_back(Reason::make(ReasonCode::kFailed, "%s", std::strerror(status.error())));
  }
  if (!way) return decline(Status(EOPNOTSUPP));
  finish(accept_as_it_came());
}

Status IncomingSetup::meet() {
  auto meeting = shard().port(kSameHost)->meet(route().peer_words(), token());
  if (!meeting) return meeting.error();
  meeting_ = std::move(*meeting);
  return Status();
}

void IncomingSetup::met(Status status) {
  if (!meeting_) return;
  if (!status.ok()) return take_request(route().fall_back(meeting_->why_not()));
  finish(accept_by_meeting());
}

// What set the connection up carries it.
Result<Carrier> IncomingSetup::accept_as_it_came() {
  const ProviderId way = request_->provider();
  Port* const port = shard().port(way);
  if (port == nullptr) return failure(EOPNOTSUPP);  // it could not be opened on this shard; logged then
  const auto data = route().answer(hello().view(), way);
  auto link = port->accept(std::move(request_), socket(), {data, proto::link_depths(agreement_)}, token());
  if (!link) return failure(link.error());
  link_ = std::move(*link);
  return settle(way, agreement_, {});
}

Result<Carrier> IncomingSetup::accept_by_meeting() {
  const Reason limit = meeting_->why_not();
  const auto peer_data = request_->private_data();
  auto link = shard().port(kSameHost)->take_over(std::move(meeting_), socket(),
                                                 {peer_data, proto::link_depths(agreement_)}, token());
  if (!link) return failure(link.error());
  link_ = std::move(*link);
  const Status granted = request_->grant(route().answer(hello().view(), kSameHost));
  if (!granted.ok()) return failure(granted);
  return settle(kSameHost, agreement_, limit);
}

void IncomingSetup::finish(Result<Carrier> carrier) {
  if (!carrier) return decline(carrier.error());
  request_.reset();
  const Accepted done = std::move(done_);
  done(client().accepted(std::move(*carrier)));
}

void IncomingSetup::decline(Status why) {
  if (request_) request_->reject(route().answer(proto::make_rejection(why.error()).view(), std::nullopt));
  const Accepted done = std::move(done_);
  client().setup_failed(why);
  request_.reset();
  meeting_.reset();
  done(why);
}

}  // namespace exs
