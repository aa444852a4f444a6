// Lines of EXS_LOG=debug about a peer, from the found place to the answer.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstring>
#include <string>

#include "service/names/address.h"
#include "service/node/peer.h"

namespace exs::svc {
namespace {

const char* words_of(Refusal why) {
  switch (why) {
    case Refusal::kNobody: return "that node does not have it";
    case Refusal::kNotAllowed: return "not without a capability, or not with this one";
    case Refusal::kTooMany: return "it serves as many as it wants";
    case Refusal::kNoRoom: return "it has no room";
    case Refusal::kMoved: return "it has moved";
  }
  return "for no reason that is known here";
}

}  // namespace

void Peer::log_connecting(const sockaddr_storage& address, const Link* link) {
  log_.say(config_.target, [&] {
    if (link == nullptr) return "no connection to " + text_of(address) + " can be made";
    return (link->is_up() ? "asked for on the connection to " : "connects to ") + text_of(address);
  });
}

// The way is known; the next one is news again.
void Peer::log_open() {
  log_.forget();
  log_.say(config_.target, [&] { return "answers at " + text_of(link_->address()); });
  log_.forget();
}

void Peer::log_refused(Refusal why) {
  log_.say(config_.target, [&] { return "refused at " + text_of(link_->address()) + ": " + words_of(why); });
}

void Peer::log_gone() {
  if (is_closed_) return;
  log_.say(config_.target, [&] {
    const char* const why = link_->was_silent()   ? "nothing is heard of it"
                            : link_->error() != 0 ? std::strerror(link_->error())
                                                  : "it is closed, or nobody is there";
    return "the connection to " + text_of(link_->address()) + " ends: " + why;
  });
}

void Peer::log_lost(int error) {
  if (error != 0) log_.say(config_.target, [&] { return std::string("given up: ") + std::strerror(error); });
  log_.forget();
}

}  // namespace exs::svc
