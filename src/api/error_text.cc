// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/error_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "exs/exs.h"
#include "src/base/contain.h"
#include "src/base/log.h"
#include "src/base/refusal.h"

namespace exs {
namespace {

constexpr std::size_t kFunctionBytesMax = 32;

struct FailedCall {
  const char* function = nullptr;
  Status why;
  std::array<char, kFunctionBytesMax + kSentenceBytesMax> text{};
};

constinit thread_local FailedCall t_failed;

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
const char* sentence_in(const General (&table)[kCount], int error) {
  for (const General& general : table) {
    if (general.error == error) return general.sentence;
  }
  return "";
}

const char* general_sentence(std::string_view function, int error) {
  const char* const of_messages = function.starts_with("exm_") ? sentence_in(kOfMessages, error) : "";
  return *of_messages != '\0' ? of_messages : sentence_in(kGeneral, error);
}

bool is_fault(Status why) {
  return why.sentence() != 0 && why.sentence() % 2 == 0;
}

// Keeps the text, because other faults may follow before a caller asks for it.
Status as_refusal(Status fault) noexcept {
  std::array<char, kSentenceBytesMax> line;
  const std::size_t length = text_of_fault(fault, line);
  return length == 0 ? Status(fault.error()) : refuse_in_words(fault.error(), {line.data(), length});
}

void write_text(FailedCall& failed) noexcept {
  std::array<char, kSentenceBytesMax> sentence;
  const std::size_t length = failed.why.sentence() == 0 ? 0 : text_of_refusal(failed.why, sentence);
  char* const out = failed.text.data();
  if (length > 0) {
    std::snprintf(out, failed.text.size(), "%s: %.*s", failed.function, static_cast<int>(length),
                  sentence.data());
    return;
  }
  const char* const general = general_sentence(failed.function, failed.why.error());
  std::snprintf(out, failed.text.size(), "%s: %s%s%s", failed.function, std::strerror(failed.why.error()),
                *general == '\0' ? "" : ": ", general);
}

}  // namespace

void call_failed(const char* function, Status why) noexcept {
  FailedCall& failed = t_failed;
  failed.function = function;
  failed.why = is_fault(why) ? as_refusal(why) : why;
  errno = why.error();
}

}  // namespace exs

using namespace exs;

const char* exs_errtext(void) {
  FailedCall& failed = t_failed;
  const int kept_errno = errno;
  if (failed.function != nullptr) write_text(failed);
  errno = kept_errno;
  return failed.text.data();
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
