// Sentences for errors that the inside reports by their number alone: what it means for this function.
// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <cerrno>
#include <string_view>

#include "service/api/calls.h"

namespace exs::svc {
namespace {

struct ErrorSentence {
  std::string_view function;  // empty: any
  int error;
  const char* sentence;
};

// The first row that fits.
constexpr std::array kSentences = std::to_array<ErrorSentence>({
    {"exs_svc_key_load", EACCES, "the file is not this user's, or others may read it: chmod 600"},
    {"exs_svc_key_load", EPROTO, "the file holds no key"},
    {"exs_svc_key_store", EEXIST, "the file exists, and a key is only ever written into a new file"},
    {"exs_svc_open", EADDRINUSE, "a process of this host has the service's name"},
    {"exs_svc_adopt", EADDRINUSE, "a process of this host waits for the service"},
    {"exs_svc_move", EALREADY, "the service is on its way, or not here"},
    {"exs_svc_peer_trust", EBUSY, "the peer has memory of exs_svc_return_alloc already"},
    {"exs_svc_ping", EAGAIN, "a ping is under way"},
    {"exs_svc_stats", EAGAIN, "the service is asked already"},
    {"exs_svc_return_alloc", EPERM, "its service is not trusted: exs_svc_peer_trust() says that it is"},
    {"exs_svc_return_alloc", ENOBUFS, "there is no gap as long in what exs_svc_peer_trust() allows"},
    {"exs_svc_return_free", EBUSY, "a request that has not ended names it"},
    {"exs_svc_return_free", EINVAL, "no memory of exs_svc_return_alloc begins there"},
    {"exs_svc_request", EBUSY, "another request has one of these places for replies"},
    {"exs_svc_request", EINVAL,
     "a place for replies is no part of one piece of memory of exs_svc_return_alloc"},
    {"exs_svc_reply", ECANCELED, "nobody waits for this reply, or it has been given"},
    {"exs_svc_reply", EAGAIN,
     "64 parts and requests of its sender are pending: exs_svc_wait(), and try again"},
    {"exs_svc_cancel", ENOENT, "no request has this handle"},
    {"exs_svc_node_open", EADDRNOTAVAIL, "no interface of this host has the address"},
    {"exs_svc_node_open", EAGAIN, "no thread is left for the names of services"},
    {"exs_svc_wait", EINTR, "a signal was caught"},
    {"", EAGAIN, "64 messages or requests have not been taken: exs_svc_wait(), and try again"},
    {"", EMFILE, "no descriptor is left for this process: raise its limit"},
});

}  // namespace

const char* general_sentence(std::string_view function, int error) noexcept {
  for (const ErrorSentence& general : kSentences)
    if (general.error == error && (general.function.empty() || general.function == function))
      return general.sentence;
  return "";
}

}  // namespace exs::svc

const char* exs_svc_errtext() {
  return exs::text_of_failed_call(exs::svc::general_sentence);
}
