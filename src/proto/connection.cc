#include "src/proto/connection.h"

#include "src/proto/endpoint.h"

namespace exs::proto {

class Connection::Implementation final : public Endpoint {
 public:
  using Endpoint::Endpoint;
};

Connection::Connection(Role role, const Agreement& agreement, Link& link, OutcomeSink& sink)
    : implementation_(std::make_unique<Implementation>(role, agreement, link, sink)) {}
Connection::~Connection() = default;

Status Connection::start() {
  return implementation_->start();
}
void Connection::post_send(const Operation& operation) {
  implementation_->post_send(operation);
}
void Connection::post_receive(const Operation& operation) {
  implementation_->post_receive(operation);
}
void Connection::handle(const Completion& completion) {
  implementation_->handle(completion);
}
void Connection::flush() {
  implementation_->flush();
}
bool Connection::combines() const noexcept {
  return implementation_->combines();
}
Cancelled Connection::cancel(Direction direction, const Selection& selection, int error) {
  return implementation_->cancel(direction, selection, error);
}
void Connection::end_turn() {
  implementation_->end_turn();
}
void Connection::set_nodelay(bool nodelay) {
  implementation_->set_nodelay(nodelay);
}
void Connection::probe() {
  implementation_->probe();
}
Readiness Connection::readiness() const noexcept {
  return implementation_->readiness();
}
bool Connection::stalled() const noexcept {
  return implementation_->stalled();
}
std::uint64_t Connection::oldest_post_ns(Direction direction) const noexcept {
  return implementation_->oldest_post_ns(direction);
}
bool Connection::shutdown_told() const noexcept {
  return implementation_->shutdown_told();
}
void Connection::shutdown_sending() {
  implementation_->shutdown_sending();
}
void Connection::shutdown_receiving() {
  implementation_->shutdown_receiving();
}
void Connection::close() {
  implementation_->close();
}
void Connection::abort(Status why) {
  implementation_->abort(why);
}
const Counters& Connection::counters() const noexcept {
  return implementation_->counters();
}
const Agreement& Connection::agreement() const noexcept {
  return implementation_->agreement();
}

LinkDepths link_depths(const Agreement& agreement) {
  // The peer's slots mirror ours, so as many messages as we have slots is also the most that can be of use.
  return {.sends = slot_count(agreement),
          .receives = slot_count(agreement),
          .reads_out = agreement.reads_out,
          .reads_in = agreement.reads_in,
          .message_bytes = static_cast<std::uint32_t>(slot_bytes(agreement))};
}

}  // namespace exs::proto
