// SPDX-License-Identifier: BSD-2-Clause
#include "event/session/incoming_setup.h"

#include <cstring>
#include <utility>

#include "event/session/failure_text.h"

namespace exs {

IncomingSetup::IncomingSetup(const Context& context, AcceptableRequest&& acceptable, Accepted&& done)
    : ConnectionSetup(context),
      request_(std::move(acceptable.request)),
      came_by_(acceptable.role),
      agreement_(acceptable.agreement),
      done_(std::move(done)) {}

void IncomingSetup::start(const Reason& why_no_device) {
  take_request(route().decide(shard(), came_by_, request_->private_data(), why_no_device));
}

void IncomingSetup::complete(const Completion& completion) {
  if (completion.kind == CompletionKind::kUpgradeReady) upgrade_ready(completion.status);
}

std::string IncomingSetup::what_failed(Status why) {
  return text_of_end(name_of_peer(socket()), why);
}

void IncomingSetup::take_request(std::optional<Role> way) {
  if (way == Role::kSameHost) {
    const Status status = begin_upgrade();
    if (status.ok()) return;  // kUpgradeReady follows
    way = route().fall_back(Reason::make(ReasonCode::kFailed, "%s", std::strerror(status.error())));
  }
  if (!way) return decline(Status(EOPNOTSUPP));
  finish(accept_as_it_came());
}

Status IncomingSetup::begin_upgrade() {
  shard().assert_held();
  if (request_->upgradable() == nullptr) return Status(EPROTO);
  auto begun = upgrade()->begin(route().invitation(), token());
  if (!begun) return begun.error();
  upgrade_ = std::move(*begun);
  return Status();
}

void IncomingSetup::stop(Status why) {
  ConnectionSetup::stop(why);
  upgrade_.reset();
  report_outcome(why);
}

// The session may end within any step.
void IncomingSetup::report_outcome(Status outcome) {
  if (const Accepted done = std::exchange(done_, nullptr)) done(outcome);
}

void IncomingSetup::upgrade_ready(Status status) {
  if (!upgrade_) return;
  if (!status.ok()) return take_request(route().fall_back(upgrade_->why_not()));
  finish(accept_by_upgrade());
}

// The provider that set the connection up carries it.
Result<Carrier> IncomingSetup::accept_as_it_came() {
  shard().assert_held();
  Port* const port = shard().port(came_by_);
  if (port == nullptr) return failure(EOPNOTSUPP);  // it could not be opened on this shard; logged then
  const auto data = route().answer(hello().view(), came_by_);
  auto link = port->connector()->accept(std::move(request_), socket(), {data, proto::link_depths(agreement_)},
                                        token());
  if (!link) return failure(link.error());
  link_ = std::move(*link);
  return settle(came_by_, agreement_, {});
}

Result<Carrier> IncomingSetup::accept_by_upgrade() {
  shard().assert_held();
  const Reason limit = upgrade_->why_not();
  const auto peer_data = request_->private_data();
  auto link =
      upgrade()->adopt(std::move(upgrade_), socket(), {peer_data, proto::link_depths(agreement_)}, token());
  if (!link) return failure(link.error());
  link_ = std::move(*link);
  const Status granted = request_->upgradable()->grant(route().answer(hello().view(), Role::kSameHost));
  if (!granted.ok()) return failure(granted);
  return settle(Role::kSameHost, agreement_, limit);
}

void IncomingSetup::finish(Result<Carrier> carrier) {
  if (!carrier) return decline(carrier.error());
  request_.reset();
  report_outcome(client().accepted(std::move(*carrier)));
}

void IncomingSetup::decline(Status why) {
  if (request_) request_->reject(route().answer(proto::make_rejection(why.error()).view(), std::nullopt));
  client().setup_failed(why);
  request_.reset();
  upgrade_.reset();
}

}  // namespace exs
