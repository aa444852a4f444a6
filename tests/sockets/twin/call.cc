// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sockets/twin/call.h"

#include <cerrno>

#include "tests/sockets/twin/signals.h"

namespace twin {
namespace {

Answer choose(const Command& command) {
  switch (command.op) {
    case Op::send: return perform_send(command);
    case Op::recv: return perform_recv(command);
    case Op::fill: return perform_fill(command);
    case Op::drain: return perform_drain(command);
    case Op::sendfile:
    case Op::splice_in:
    case Op::splice_out: return perform_file(command);
    case Op::stdio_write:
    case Op::stdio_read: return perform_stdio(command);
    case Op::poll:
    case Op::epoll_create:
    case Op::epoll_ctl:
    case Op::epoll_wait:
    case Op::settle:
    case Op::flush: return perform_wait(command);
    case Op::signals: return answer_of(urgent_signals());
    default: return perform_state(command);
  }
}

}  // namespace

Answer answer_of(std::int64_t result) {
  Answer answer;
  answer.result = result;
  answer.error = result == -1 ? errno : 0;
  return answer;
}

Answer perform(const Command& command) {
  const std::uint32_t before = pipe_signals();
  Answer answer = choose(command);
  answer.pipe_signals = pipe_signals() - before;
  return answer;
}

}  // namespace twin
