// The client's end of a rendezvous: from a handle with a TCP connection to a link, or to the reason why there is none.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rpc/rpc.h>

#include <memory>

#include "base/status.h"
#include "rpc/channel/message_link.h"

namespace exs::rpc {

// A link with a queue of its own, for one handle.
class ClientLink {
 public:
  // `plain` is the handle as libtirpc made it. Returns NULL if there will be no link; the handle is unchanged then.
  static std::unique_ptr<ClientLink> connect(CLIENT& plain, std::int64_t limit_ns);
  ~ClientLink();
  ClientLink(const ClientLink&) = delete;
  ClientLink& operator=(const ClientLink&) = delete;

  // Takes events until one brings news. Returns News::kNothing at the time limit.
  MessageLink::News wait(std::int64_t limit_ns);
  [[nodiscard]] MessageLink& link() { return *link_; }
  // The longest message that should use the link.
  [[nodiscard]] std::uint32_t longest() const { return longest_; }
  // The longest message that can use the link.
  [[nodiscard]] std::uint32_t longest_possible() const { return longest_possible_; }

 private:
  ClientLink() = default;
  [[nodiscard]] bool reach(const sockaddr_storage& place, socklen_t length, const struct OfferAnswer& answer,
                           std::int64_t limit_ns);

  exs_qhandle_t queue_ = EXS_QHANDLE_INVALID;
  std::unique_ptr<MessageLink> link_;
  std::uint32_t longest_ = 0;
  std::uint32_t longest_possible_ = 0;
};

}  // namespace exs::rpc
