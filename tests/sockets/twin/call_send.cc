// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "tests/sockets/twin/call.h"
#include "tests/sockets/twin/parts.h"
#include "tests/sockets/twin/stream.h"

namespace twin {
namespace {

constexpr std::size_t kFillChunk = 8192;
// A connection counts as full after this time. It exceeds the kernel's delay of an acknowledgement.
constexpr int kFullMs = 50;

Answer send_messages(const Command& command, Parts& parts) {
  std::vector<mmsghdr> messages(parts.iov.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i] = {};
    messages[i].msg_hdr.msg_iov = &parts.iov[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  Answer answer =
      answer_of(sendmmsg(command.fd, messages.data(), static_cast<unsigned>(messages.size()), command.flags));
  for (std::int64_t i = 0; i < answer.result; ++i)
    answer.bytes += messages[static_cast<std::size_t>(i)].msg_len;
  return answer;
}

Answer call(const Command& command, void* bytes, std::size_t length, Parts& parts) {
  const int count = static_cast<int>(parts.iov.size());
  switch (static_cast<SendCall>(command.variant)) {
    case SendCall::write: return answer_of(write(command.fd, bytes, length));
    case SendCall::writev: return answer_of(writev(command.fd, parts.iov.data(), count));
    case SendCall::sendto: return answer_of(sendto(command.fd, bytes, length, command.flags, nullptr, 0));
    case SendCall::sendmsg: {
      msghdr message = {};
      message.msg_iov = parts.iov.data();
      message.msg_iovlen = parts.iov.size();
      return answer_of(sendmsg(command.fd, &message, command.flags));
    }
    case SendCall::sendmmsg: return send_messages(command, parts);
    case SendCall::pwritev2: return answer_of(pwritev2(command.fd, parts.iov.data(), count, -1, 0));
    default: return answer_of(send(command.fd, bytes, length, command.flags));
  }
}

}  // namespace

Answer perform_send(const Command& command) {
  const bool is_real = command.bad_pointer == 0;
  const auto length = static_cast<std::size_t>(command.length);
  std::vector<unsigned char> bytes(is_real ? length : 0);
  fill_from_stream(bytes, command.stream, command.position);
  void* const where = is_real ? bytes.data() : nullptr;
  Parts parts(where, length, command.parts);
  Answer answer = call(command, where, length, parts);
  if (static_cast<SendCall>(command.variant) != SendCall::sendmmsg && answer.result > 0)
    answer.bytes = answer.result;
  return answer;
}

Answer perform_fill(const Command& command) {
  std::vector<unsigned char> bytes(kFillChunk);
  Answer answer;
  answer.result = 0;
  while (answer.bytes < command.length) {
    fill_from_stream(bytes, command.stream, command.position + static_cast<std::uint64_t>(answer.bytes));
    const ssize_t sent = send(command.fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (sent > 0) {
      answer.bytes += sent;
      continue;
    }
    answer.error = errno;
    if (errno != EAGAIN) break;
    pollfd wanted = {command.fd, POLLOUT, 0};
    if (poll(&wanted, 1, kFullMs) == 0) break;
  }
  return answer;
}

}  // namespace twin
