// The end of an endpoint: it lets its peers receive what was sent to them, and says what was lost.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>

#include "base/contain.h"
#include "base/refusal.h"
#include "event/message/endpoint.h"

namespace exs {

Status Endpoint::finalize(std::uint64_t limit_ns) {
  const Status status = contained_status([&] {
    leave(limit_ns);
    return wait_for_peers(static_cast<std::int64_t>(limit_ns + limit_ns / 4));
  });
  const Status why = status == Status(ENOMEM) ? status : Status(ETIMEDOUT);
  shard_->carry_out([&] {
    if (bell_) bell_->silence();
    if (acceptor_) acceptor_->stop();
    for (const auto& one : made_peers_) {
      if (one->is_over()) continue;
      note_loss(one->rank(), why.error());
      one->die(why);
    }
  });
  return loss_.error == 0 ? status : loss_.told();
}

void Endpoint::leave(std::uint64_t limit_ns) {
  shard_->carry_out([&] {
    is_leaving_ = true;
    requests_.visit(Request::State::kOpen, [&](Request& request) {
      if (request.kind != Request::Kind::kReceive || request.waiting == match::kNone) return;
      mailbox_.remove_receive(request);
      end(request, ECANCELED);
    });
    while (Kept* const kept = mailbox_.any()) {
      const auto message = mailbox_.remove(*kept);
      if (message->send != nullptr) end(*message->send, EPIPE);
      if (message->from == nullptr) continue;
      if (message->is_advert) {
        message->from->refuse_kept(message->advert);
      } else {
        message->from->finish_kept(message->arrival, false);
      }
    }
    for (const auto& one : made_peers_) one->close(limit_ns);
  });
}

// Only the first: what follows is of the same cause, or hides it.
void Endpoint::note_loss(std::uint32_t rank, int error) noexcept {
  if (is_leaving_ && loss_.error == 0) loss_ = {rank, error};
}

Status Endpoint::Loss::told() const {
  switch (error) {
    case ETIMEDOUT:
      return refuse(
          error,
          "rank {} neither received all that was sent to it in the time limit nor left, and what it "
          "has not received is lost: let it receive before this rank leaves",
          rank);
    case EPIPE:
      return refuse(
          error, "rank {} left without receiving what was sent to it: let it receive before it leaves", rank);
    case ECONNRESET: return refuse(error, "rank {} died, and what it had not received is lost", rank);
    case ENOMEM: return refuse(error, "there was no memory to wait until rank {} had received all", rank);
    default: return refuse(error, "a message to rank {} could not be sent", rank);
  }
}

}  // namespace exs
