// A client handle as libtirpc made it: the calls that go by its TCP connection. Thread: calls of a handle take turns.
#pragma once

#include <rpc/rpc.h>

#include <cstdint>
#include <type_traits>

namespace exs::rpc {

// The limit of a call that waits for nothing. libtirpc keeps such a call if it has no results, and sends it with a later one.
inline bool is_zero(const timeval& limit) {
  return limit.tv_sec == 0 && limit.tv_usec == 0;
}

class PlainHandle {
 public:
  explicit PlainHandle(const CLIENT* client) : operations_(client->cl_ops), private_(client->cl_private) {}

  // For functions of libtirpc. `client` has what the program may change: the proof of identity.
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
  // The server may not have served all of them yet.
  [[nodiscard]] bool has_unanswered() const { return has_unanswered_; }
  // An answer has come behind all of them.
  void note_answer() { has_unanswered_ = has_batched_ = has_asked_ = has_kept_ = false; }

  // Tells the server, with the next call, to serve nothing more that comes by the link of this connection: behind all that was called
  // by the connection, and before all that will be.
  void end_link(const CLIENT* client) const;
  // Before the end of a connection that had a link: what was called without an answer arrives, though libtirpc may have kept it.
  void let_arrive(const CLIENT* client) const;

  // Of the last call, as libtirpc has it: each call counts down the word of the message, whatever the order of its bytes.
  [[nodiscard]] std::uint32_t id(const CLIENT* client) const;
  void set_id(const CLIENT* client, std::uint32_t id) const;

 private:
  // A call to what stands for exs in the server.
  void call_exs(const CLIENT* client, rpcproc_t procedure, bool at_once, timeval limit) const;

  std::remove_pointer_t<decltype(CLIENT::cl_ops)>* operations_;
  decltype(CLIENT::cl_private) private_;
  bool has_unanswered_ = false;
  bool has_batched_ = false;  // one that has no results
  bool has_asked_ = false;    // one whose answer may still come
  bool has_kept_ = false;     // libtirpc has not sent all of them
};

}  // namespace exs::rpc
