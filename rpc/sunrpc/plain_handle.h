// A client handle as libtirpc made it: the calls that use its TCP connection. Thread: calls of a handle take turns.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rpc/rpc.h>

#include <cstdint>
#include <type_traits>

namespace exs::rpc {

// The limit of a batched call. If such a call has no results, libtirpc keeps it, and sends it with a later one.
inline bool is_zero(const timeval& limit) {
  return limit.tv_sec == 0 && limit.tv_usec == 0;
}

class PlainHandle {
 public:
  explicit PlainHandle(const CLIENT* client) : operations_(client->cl_ops), private_(client->cl_private) {}

  // Returns the handle for functions of libtirpc. `client` has the credentials, which the program may change.
  [[nodiscard]] CLIENT of(const CLIENT* client) const {
    CLIENT copy = *client;
    give_back(&copy);
    return copy;
  }
  void give_back(CLIENT* client) const {
    client->cl_ops = operations_;
    client->cl_private = private_;
  }

  clnt_stat call(const CLIENT* client, rpcproc_t procedure, xdrproc_t encode, void* arguments,
                 xdrproc_t decode, void* results, timeval limit);
  // The server may not have served all calls yet.
  [[nodiscard]] bool has_unanswered() const { return has_unanswered_; }
  // An answer has arrived after all of these calls.
  void note_answer() { has_unanswered_ = has_batched_ = has_asked_ = has_kept_ = false; }

  // Tells the server, with the next call, to serve nothing more from the link. The server sees this after all earlier calls of the
  // connection, and before all later ones.
  void end_link(const CLIENT* client) const;
  // Called before a connection that had a link ends. It makes calls without an answer arrive, though libtirpc may have kept them.
  void let_arrive(const CLIENT* client) const;

  // The ID of the last call as libtirpc keeps it: each call decrements the word of the message, in whatever byte order.
  [[nodiscard]] std::uint32_t id(const CLIENT* client) const;
  void set_id(const CLIENT* client, std::uint32_t id) const;

 private:
  // Calls the rendezvous program of the server.
  void call_exs(const CLIENT* client, rpcproc_t procedure, bool at_once, timeval limit) const;

  std::remove_pointer_t<decltype(CLIENT::cl_ops)>* operations_;
  decltype(CLIENT::cl_private) private_;
  bool has_unanswered_ = false;
  bool has_batched_ = false;  // a call without results
  bool has_asked_ = false;    // a call whose answer may still arrive
  bool has_kept_ = false;     // libtirpc has not sent all of them
};

}  // namespace exs::rpc
