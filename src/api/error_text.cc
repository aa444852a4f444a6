// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/error_text.h"

#include <array>
#include <cerrno>
#include <string_view>

#include "base/c_call.h"
#include "base/contain.h"
#include "base/refusal.h"
#include "exs/exs.h"
#include "src/log/log.h"

namespace exs {
namespace {

struct General {
  int error;
  const char* sentence;
};

// Sentences for errors without one, mostly from the kernel.
constexpr General kGeneral[] = {
    {EACCES, "ports below 1024 need CAP_NET_BIND_SERVICE: take a higher one"},
    {EADDRINUSE, "another socket has the port: ss -ltnp names it; port 0 takes a free one"},
    {EADDRNOTAVAIL,
     "no interface of this host has that address: ip addr lists them; 0.0.0.0 and [::] stand for all"},
    {EAFNOSUPPORT, "the family of the address must be that of the socket, AF_INET or AF_INET6"},
    {EAGAIN, "the process may have no more threads: raise ulimit -u"},
    {ECANCELED,
     "exs_cancel, the end of the socket, or the peer, which took its persistent memory back, has ended the "
     "operation"},
    {ECONNRESET,
     "the peer ended without closing the connection; see whether its process was killed, or crashed"},
    {EINTR, "a signal was caught: call again"},
    {EMSGSIZE,
     "the message is longer than the buffer, which has its start: give a larger one; MSG_TRUNC tells the "
     "length"},
    {EISCONN, "the socket is connected, connects or listens: make another, and set options before"},
    {EMFILE, "the process has no free descriptor: raise ulimit -n, or close some"},
    {ENFILE, "the system has no free descriptor: raise fs.file-max"},
    {ENOMEM, "out of memory, or a limit of the process (ulimit -a) or its cgroup is reached"},
    {ENOTCONN, "the socket is not connected: wait for EXS_EVT_CONNECT or EXS_EVT_ACCEPT first"},
    {EPIPE, "the sending direction has ended: exs_shutdown was called, or the peer takes no more"},
    {EINPROGRESS, "each try met an update of the owner: give it more time, or have the owner use slots"},
    {ENOMSG, "the peer has no persistent send posted: it must be posted before the window is read"},
    {ETIMEDOUT, "its time limit is over"},
};

// Sentences for messages, where the caller knows ranks and peers, but no sockets.
constexpr General kOfMessages[] = {
    {ECANCELED, "exm_cancel or exm_finalize has ended it"},
    {ECONNRESET,
     "the peer died, or no connection with it came up: see that its process runs, that all have one list of "
     "ranks, and that "
     "the networks between them are up (within a host: ip link set lo up)"},
    {EMSGSIZE, "the message is longer than the room for it: give more; exm_probe tells the length"},
    {EPIPE,
     "the peer has left by exm_finalize: see that it receives all, and that all have one list of ranks"},
};

template <std::size_t kCount>
const char* sentence_in(const General (&table)[kCount], int error) noexcept {
  for (const General& general : table) {
    if (general.error == error) return general.sentence;
  }
  return "";
}

const char* general_sentence(std::string_view function, int error) noexcept {
  const char* const of_messages = function.starts_with("exm_") ? sentence_in(kOfMessages, error) : "";
  return *of_messages != '\0' ? of_messages : sentence_in(kGeneral, error);
}

}  // namespace

// The log keeps only the last faults, and more may come before a caller asks for the text.
Status with_kept_text(Status why) noexcept {
  const bool is_fault = why.sentence() != 0 && why.sentence() % 2 == 0;
  if (!is_fault) return why;
  std::array<char, kSentenceBytesMax> line;
  const std::size_t length = text_of_fault(why, line);
  return length == 0 ? Status(why.error()) : refuse_in_words(why.error(), {line.data(), length});
}

}  // namespace exs

using namespace exs;

const char* exs_errtext(void) {
  return text_of_failed_call(general_sentence);
}

int exs_setlog(exs_logger_t logger, void* context, int level) {
  if (level < EXS_LOG_OFF || level > EXS_LOG_DEBUG) {
    call_failed("exs_setlog", refuse(EINVAL, "the level {} is none of EXS_LOG_OFF (0) to EXS_LOG_DEBUG ({})",
                                     level, EXS_LOG_DEBUG));
    return -1;
  }
  bool is_set = true;
  contain([&] { set_log(logger, context, static_cast<LogLevel>(level)); }, [&] { is_set = false; });
  if (!is_set) call_failed("exs_setlog", Status(ENOMEM));
  return is_set ? 0 : -1;
}
