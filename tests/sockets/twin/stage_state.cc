// Steps that read and change the state of a connection.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "tests/sockets/twin/stage.h"

namespace twin {
namespace {

struct OptionChoice {
  int level;
  int name;
  int value;  // kAsked: only read the option
};

constexpr int kAsked = -1000;
// Options are read after they have been set. Buffer sizes are read only then, because the kernel enlarges
// sizes that were never set.
constexpr OptionChoice kOptions[] = {
    {SOL_SOCKET, SO_ERROR, kAsked},
    {SOL_SOCKET, SO_ERROR, kAsked},
    {SOL_SOCKET, SO_TYPE, kAsked},
    {SOL_SOCKET, SO_DOMAIN, kAsked},
    {SOL_SOCKET, SO_ACCEPTCONN, kAsked},
    {SOL_SOCKET, SO_KEEPALIVE, 1},
    {SOL_SOCKET, SO_KEEPALIVE, 0},
    {SOL_SOCKET, SO_SNDBUF, 20000},
    {SOL_SOCKET, SO_SNDBUF, 65536},
    {SOL_SOCKET, SO_RCVBUF, 90000},
    {SOL_SOCKET, SO_RCVLOWAT, 1},
    {SOL_SOCKET, SO_RCVLOWAT, 1},
    {SOL_SOCKET, SO_RCVLOWAT, 10},
    {SOL_SOCKET, SO_RCVTIMEO, 0},
    {SOL_SOCKET, SO_SNDTIMEO, 0},
    {IPPROTO_TCP, TCP_NODELAY, kAsked},
    {IPPROTO_TCP, TCP_NODELAY, 1},
    {IPPROTO_TCP, TCP_CORK, kAsked},
    {IPPROTO_TCP, TCP_KEEPIDLE, 100},
    {IPPROTO_TCP, TCP_QUICKACK, 1},
    {SOL_SOCKET, SO_OOBINLINE, kAsked},
    {SOL_SOCKET, SO_LINGER, kAsked},
    {SOL_SOCKET, SO_PRIORITY, 3},
    {IPPROTO_TCP, TCP_USER_TIMEOUT, 9000},
    {SOL_SOCKET, SO_PASSCRED, kAsked},
    {IPPROTO_TCP, 9999, kAsked},
    {IPPROTO_TCP, 9999, 1},
};

constexpr int kInquiries[] = {FIONREAD, FIONREAD, FIONREAD, SIOCOUTQ, SIOCATMARK};

}  // namespace

bool Stage::state(const Step& step) {
  switch (step.kind) {
    case Kind::option:
    case Kind::linger:
    case Kind::urgent_inline: return option(step);
    case Kind::inquire: return inquire(step);
    case Kind::nonblock: return nonblock(step);
    case Kind::names: return names(step);
    default: return false;
  }
}

bool Stage::option(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  if (!place) return false;
  OptionChoice choice = kOptions[step.a % std::size(kOptions)];
  if (step.kind == Kind::linger) choice = {SOL_SOCKET, SO_LINGER, static_cast<int>(step.a % 3) - 1};
  if (step.kind == Kind::urgent_inline) choice = {SOL_SOCKET, SO_OOBINLINE, 1};
  Command command = {};
  command.op = Op::set_option;
  command.fd = place->fd;
  command.level = choice.level;
  command.name = choice.name;
  command.value = choice.value;
  if (choice.value != kAsked) {
    const Answers answers = both_.call_same(step.process, command);
    End& end = end_at(*place);
    if (answers[0].result == 0 && choice.level == SOL_SOCKET) {
      if (choice.name == SO_LINGER) end.resets = choice.value == 0;
      if (choice.name == SO_RCVLOWAT) end.low_water = choice.value;
      if (choice.name == SO_OOBINLINE) end.is_inline = true;
    }
  }
  // The kernel changes quick acknowledging by itself.
  if (choice.level == IPPROTO_TCP && choice.name == TCP_QUICKACK) return true;
  command.op = Op::get_option;
  command.value = 0;
  both_.call_same(step.process, command);
  return true;
}

bool Stage::inquire(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  if (!place) return false;
  Command command = {};
  command.op = Op::inquire;
  command.fd = place->fd;
  command.name = kInquiries[step.a % std::size(kInquiries)];
  both_.ask_same(step.process, command);
  return true;
}

bool Stage::nonblock(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  if (!place) return false;
  Command command = {};
  command.op = Op::nonblock;
  command.variant = step.a % static_cast<std::uint32_t>(NonblockCall::count);
  command.fd = place->fd;
  command.value = static_cast<int>(step.b % 2);
  both_.call_same(step.process, command);
  end_at(*place).is_nonblocking = command.value != 0;
  command = {};
  command.op = Op::flags;
  command.fd = place->fd;
  command.name = step.a / 2 % 2 == 0 ? F_GETFL : F_GETFD;
  both_.call_same(step.process, command);
  return true;
}

bool Stage::names(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  if (!place) return false;
  Command command = {};
  command.op = Op::names;
  command.fd = place->fd;
  const Answers answers = both_.call_same(step.process, command);
  const auto& ports = connection_at(*place).ports;
  for (std::size_t w = 0; w < kWorlds; ++w) {
    const bool knows_peer = answers[w].values[0] == 0;
    if (answers[w].port != ports[place->end][w] ||
        (knows_peer && answers[w].peer_port != ports[1 - place->end][w]))
      both_.differ("a port is another one", step.process, Both::same(command), answers);
  }
  return true;
}

}  // namespace twin
