// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/settings/why.h"

#include <cstddef>
#include <iterator>

namespace exs::sockets {
namespace {

// In the order of Why.
constexpr WhyText kTexts[] = {
    {"short-lived", "too few calls of its two ends to have found one another",
     "keep connections open; after=1 in EXS_SOCKETS asks at the first call"},
    {"peer-not-preloaded",
     "the program at the other end has not loaded libexs_sockets.so, or has it switched off",
     "start that one by exs-run, too"},
    {"other-host", "the addresses of its two ends differ, as those of two hosts or containers do",
     "where RDMA leads there: exs-sockets-agent on both hosts, or between=on in EXS_SOCKETS and an agent "
     "there"},
    {"other-user", "the other end has another user", "EXS_SHM_USERS=same,UID at both ends"},
    {"other-netns", "the other end is in another network namespace",
     "run both ends in one network namespace"},
    {"shared", "several processes had it already when its ends met", ""},
    {"pinned-exec", "a program that was executed has it", ""},
    {"pinned-passed", "it went to another process in a message", ""},
    {"option", "the program set an option, or used a call, that TCP alone can serve", ""},
    {"io-uring", "the program uses io_uring, which the layer does not see",
     "make it use epoll, where it has an option for that"},
    {"no-descriptors", "the limit of open files or of memory was reached", "ulimit -n 65536"},
    {"broken", "what the peer offered was not what it must be", "run the same version at both ends"},
    {"off", "EXS_SOCKETS=off or a line of sockets.conf", "EXS_SOCKETS=on, or another line in sockets.conf"},
    {"sandbox",
     "a program that has it gave up rights (another user, capabilities, namespaces), or system calls "
     "(seccomp)",
     ""},
    {"redirected",
     "a packet filter gives it another address or port on its way (NAT), so nothing proves which sockets are "
     "its ends",
     "connect to the address and port where the program that is called listens"},
    {"not-met",
     "this end looked for the other one in vain, which made no call on it meanwhile, or has not loaded "
     "libexs_sockets.so",
     "start both by exs-run; after=1 in EXS_SOCKETS of both asks at the first call"},
    {"strangers",
     "another process has taken the name by which its ends meet, or has sent descriptors to such names",
     "ss -xp | grep exs-sock"},
    {"reset", "the layer could not go on with it and has reset it, as a line of the program's log says", ""},
    {"standard-stream", "it is standard input, output or error, which stdio uses unseen", ""},
    {"unseen",
     "the program makes calls that the layer does not see (RTLD_DEEPBIND, a thread with descriptors of its "
     "own)",
     ""},
    {"not-come", "the end on the other host did not come in time", "look at its host's exs-sockets-agent"},
    {"no-library", "libexs.so.0 is not to be found, or of another release",
     "install it beside libexs_sockets.so"},
    {"no-device", "no RDMA device has the address of this end", "rdma link"},
    {"no-agent", "no agent answers on the peer's host", "run exs-sockets-agent there"},
    {"not-found", "the agent of the peer's host knows no such connection, or may not serve it",
     "run the agent where the program that was called runs"},
    {"no-path", "no exs stream by RDMA could be set up to the other host", "exs-explain HOST:PORT"},
    {"no-memory", "memory for the lane to another host cannot be had, or not be locked",
     "ulimit -l unlimited"},
    {"too-many", "512 connections of the process have lanes to other hosts already", ""},
    {"asking", "it has asked for its peer, and the next calls of both ends bring them together", ""},
    {"starting",
     "the ends have met, and the first bytes that are sent once both are ready take shared memory", ""},
    {"receiving",
     "a thread waits in the kernel since before the ends met, and what it waits for comes by TCP", ""},
    {"ring-full", "the ring was full, so what follows goes by TCP until the peer has read it",
     "ring=16M in EXS_SOCKETS of the end that accepted, or a peer that reads faster"},
    {"held-back", "the program has TCP hold back what it sent last until more follows (MSG_MORE)", ""},
    {"kernel-send", "what it sent last went from a pipe or the like inside the kernel (splice, sendfile)",
     ""},
    {"peer-left", "the other end has gone back to TCP", "look at the other end, which knows why"},
    {"ended", "one of the ends has shut it down, or is gone", ""},
    {"not-known",
     "it came from another program or process, or the layer was off then: by sockets.conf, or because the "
     "program went past it (io_uring, seccomp)",
     ""},
};
static_assert(std::size(kTexts) == static_cast<std::size_t>(Why::kNotKnown) + 1);

}  // namespace

WhyText text_of(Why why) noexcept {
  const auto at = static_cast<std::size_t>(why);
  return at < std::size(kTexts) ? kTexts[at] : WhyText{"unknown", "a reason of another version", ""};
}

}  // namespace exs::sockets
