// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sockets/twin/describe.h"

#include <array>
#include <cstring>
#include <sstream>

namespace twin {
namespace {

constexpr std::array kSendNames = {"write", "writev", "send", "sendto", "sendmsg", "sendmmsg", "pwritev2"};
constexpr std::array kRecvNames = {"read", "readv", "recv", "recvfrom", "recvmsg", "recvmmsg", "preadv2"};
constexpr std::array kPollNames = {"poll", "ppoll", "select", "pselect"};
constexpr std::array kDupNames = {"dup", "dup2", "dup3", "fcntl(F_DUPFD)", "fcntl(F_DUPFD_CLOEXEC)"};

std::string plain_name(Op op) {
  switch (op) {
    case Op::fill: return "fill";
    case Op::drain: return "drain";
    case Op::sendfile: return "sendfile";
    case Op::splice_in: return "splice in";
    case Op::splice_out: return "splice out";
    case Op::stdio_write: return "fdopen and write";
    case Op::stdio_read: return "fdopen and read";
    case Op::epoll_create: return "epoll_create";
    case Op::epoll_ctl: return "epoll_ctl";
    case Op::epoll_wait: return "epoll_wait";
    case Op::settle: return "settle";
    case Op::flush: return "flush";
    case Op::listen: return "listen";
    case Op::connect: return "connect";
    case Op::accept: return "accept";
    case Op::shutdown: return "shutdown";
    case Op::flags: return "fcntl(F_GET)";
    case Op::inquire: return "ioctl";
    case Op::set_option: return "setsockopt";
    case Op::get_option: return "getsockopt";
    case Op::names: return "getsockname and getpeername";
    case Op::own: return "fcntl(F_SETOWN)";
    case Op::fork: return "fork";
    case Op::spawn: return "posix_spawn";
    case Op::exec: return "execve";
    case Op::reap: return "waitpid";
    case Op::pass: return "sendmsg(SCM_RIGHTS)";
    case Op::take: return "recvmsg(SCM_RIGHTS)";
    case Op::pending: return "pending";
    case Op::interrupt: return "pthread_kill";
    case Op::join: return "join";
    case Op::signals: return "SIGURGs";
    default: return "call";
  }
}

}  // namespace

std::string call_name(const Command& command) {
  switch (command.op) {
    case Op::send: return kSendNames.at(command.variant);
    case Op::recv: return kRecvNames.at(command.variant);
    case Op::poll: return kPollNames.at(command.variant);
    case Op::dup: return kDupNames.at(command.variant);
    case Op::close: return command.variant == 0 ? "close" : "close_range";
    case Op::nonblock: return command.variant == 0 ? "fcntl(F_SETFL)" : "ioctl(FIONBIO)";
    case Op::leave: return command.variant == 0 ? "_exit" : "exit";
    case Op::start: {
      Command inner = command;
      inner.op = command.inner;
      return "thread: " + call_name(inner);
    }
    default: return plain_name(command.op);
  }
}

std::string process_name(std::size_t process) {
  return std::array{"A", "A2", "B", "B2"}.at(process);
}

std::string describe(std::size_t process, const Command& command) {
  std::ostringstream text;
  text << process_name(process) << ": " << call_name(command) << ' ' << command.fd;
  if (command.fd2 >= 0) text << " with " << command.fd2;
  if (command.length != 0) text << ", " << command.length << " bytes";
  if (command.parts > 1) text << " in " << command.parts;
  if (command.flags != 0) text << ", flags 0x" << std::hex << command.flags << std::dec;
  if (command.level != 0 || command.name != 0) text << ", " << command.level << '/' << command.name;
  if (command.value != 0) text << ", value " << command.value;
  if (command.bad_pointer != 0) text << ", NULL";
  for (std::uint32_t i = 0; i < command.watched_count; ++i)
    text << ", " << command.watched.at(i).fd << " for 0x" << std::hex << command.watched.at(i).events
         << std::dec;
  if (command.timeout_ms != 0) text << ", " << command.timeout_ms << " ms";
  return text.str();
}

std::string describe(const Answer& answer) {
  if (answer.error == kHung) return "HUNG";
  std::ostringstream text;
  text << answer.result;
  if (answer.error != 0) {
    const char* const name = strerrorname_np(answer.error);
    text << ' ' << (name != nullptr ? name : std::to_string(answer.error).c_str());
  }
  if (answer.bytes != answer.result && answer.bytes != 0) text << ", " << answer.bytes << " bytes";
  if (answer.first_wrong >= 0) text << ", WRONG FROM BYTE " << answer.first_wrong;
  if (answer.hash != 0) text << ", hash " << std::hex << answer.hash << std::dec;
  if (answer.message_flags != 0) text << ", msg_flags 0x" << std::hex << answer.message_flags << std::dec;
  if (answer.address_length != 0) text << ", address of " << answer.address_length;
  bool is_told = false;
  for (const std::int32_t value : answer.values) is_told = is_told || value != 0;
  if (is_told) text << ", told" << std::hex;
  for (const std::int32_t value : answer.values)
    if (is_told) text << " 0x" << value;
  text << std::dec;
  if (answer.pipe_signals != 0) text << ", " << answer.pipe_signals << " SIGPIPE";
  return text.str();
}

}  // namespace twin
