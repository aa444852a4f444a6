// The client's end of a rendezvous: from a handle with a TCP connection to a link, or to the reason why there is none.
#pragma once

#include <rpc/rpc.h>

#include <memory>

#include "rpc/channel/link.h"

namespace exs::rpc {

// A link with a queue of its own, for one handle.
class ClientLink {
 public:
  // `plain` is the handle as libtirpc made it. Null: there is to be no link, and the handle is as it was.
  static std::unique_ptr<ClientLink> connect(CLIENT& plain, std::int64_t limit_ns);
  ~ClientLink();
  ClientLink(const ClientLink&) = delete;
  ClientLink& operator=(const ClientLink&) = delete;

  // Takes events until one brings news, or the time is up: then News::kNothing.
  Link::News wait(std::int64_t limit_ns);
  [[nodiscard]] Link& link() { return *link_; }
  // Bytes of the longest message that is to go by it.
  [[nodiscard]] std::uint32_t longest() const { return longest_; }
  // Bytes of the longest message that can.
  [[nodiscard]] std::uint32_t longest_possible() const { return longest_possible_; }

 private:
  ClientLink() = default;
  bool reach(const sockaddr_storage& place, socklen_t length, const struct Answer& answer,
             std::int64_t limit_ns);

  exs_qhandle_t queue_ = EXS_QHANDLE_INVALID;
  std::unique_ptr<Link> link_;
  std::uint32_t longest_ = 0;
  std::uint32_t longest_possible_ = 0;
};

}  // namespace exs::rpc
