// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "tests/sockets/twin/call.h"
#include "tests/sockets/twin/parts.h"
#include "tests/sockets/twin/stream.h"

namespace twin {
namespace {

constexpr unsigned char kUntouched = 0xa5;
constexpr std::size_t kGuardBytes = 16;
constexpr int kDrainMs = 3000;

// Each message may be short, so the bytes are moved together for the check.
Answer receive_messages(const Command& command, Parts& parts, unsigned char* bytes) {
  std::vector<mmsghdr> messages(parts.iov.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i] = {};
    messages[i].msg_hdr.msg_iov = &parts.iov[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  const auto count = static_cast<unsigned>(messages.size());
  Answer answer = answer_of(recvmmsg(command.fd, messages.data(), count, command.flags, nullptr));
  for (std::int64_t i = 0; i < answer.result; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const std::size_t length = messages[index].msg_len;
    const auto* from = static_cast<const unsigned char*>(parts.iov[index].iov_base);
    if (bytes != nullptr && from != nullptr) std::copy_n(from, length, bytes + answer.bytes);
    answer.bytes += static_cast<std::int64_t>(length);
    answer.message_flags |= messages[index].msg_hdr.msg_flags;
  }
  return answer;
}

Answer receive_message(const Command& command, Parts& parts) {
  msghdr message = {};
  message.msg_iov = parts.iov.data();
  message.msg_iovlen = parts.iov.size();
  sockaddr_storage from = {};
  message.msg_name = &from;
  message.msg_namelen = sizeof from;
  Answer answer = answer_of(recvmsg(command.fd, &message, command.flags));
  if (answer.result < 0) return answer;
  answer.message_flags = message.msg_flags;
  answer.address_length = static_cast<std::int32_t>(message.msg_namelen);
  return answer;
}

Answer call(const Command& command, unsigned char* bytes, std::size_t length, Parts& parts) {
  const int count = static_cast<int>(parts.iov.size());
  switch (static_cast<RecvCall>(command.variant)) {
    case RecvCall::read: return answer_of(read(command.fd, bytes, length));
    case RecvCall::readv: return answer_of(readv(command.fd, parts.iov.data(), count));
    case RecvCall::recvfrom: {
      sockaddr_storage from = {};
      socklen_t from_length = sizeof from;
      Answer answer = answer_of(recvfrom(command.fd, bytes, length, command.flags,
                                         reinterpret_cast<sockaddr*>(&from), &from_length));
      if (answer.result >= 0) answer.address_length = static_cast<std::int32_t>(from_length);
      return answer;
    }
    case RecvCall::recvmsg: return receive_message(command, parts);
    case RecvCall::recvmmsg: return receive_messages(command, parts, bytes);
    case RecvCall::preadv2: return answer_of(preadv2(command.fd, parts.iov.data(), count, -1, 0));
    default: return answer_of(recv(command.fd, bytes, length, command.flags));
  }
}

}  // namespace

Answer perform_recv(const Command& command) {
  const bool is_real = command.bad_pointer == 0;
  const auto length = static_cast<std::size_t>(command.length);
  std::vector<unsigned char> bytes(is_real ? length + kGuardBytes : 0, kUntouched);
  unsigned char* const where = is_real ? bytes.data() : nullptr;
  Parts parts(where, length, command.parts);
  Answer answer = call(command, where, length, parts);
  if (static_cast<RecvCall>(command.variant) != RecvCall::recvmmsg && answer.result > 0)
    answer.bytes = answer.result;
  answer.hash = command.hash;
  if (!is_real || (command.flags & MSG_TRUNC) != 0) return answer;
  if (answer.bytes > 0) {
    const std::span<const unsigned char> taken(where, static_cast<std::size_t>(answer.bytes));
    answer.hash = hash_of(taken, command.hash);
    answer.first_wrong = first_wrong(taken, command.stream, command.position);
  }
  if (!std::all_of(where + length, where + length + kGuardBytes,
                   [](unsigned char b) { return b == kUntouched; }))
    answer.first_wrong = command.length;
  return answer;
}

Answer perform_drain(const Command& command) {
  std::vector<unsigned char> bytes(std::size_t{1} << 16U);
  Answer answer;
  answer.result = 0;
  while (answer.bytes < command.length) {
    const auto wanted =
        std::min<std::size_t>(bytes.size(), static_cast<std::size_t>(command.length - answer.bytes));
    const ssize_t taken = recv(command.fd, bytes.data(), wanted, MSG_DONTWAIT);
    if (taken > 0) {
      const std::span<const unsigned char> part(bytes.data(), static_cast<std::size_t>(taken));
      const auto offset = static_cast<std::uint64_t>(answer.bytes);
      const std::int64_t wrong = first_wrong(part, command.stream, command.position + offset);
      if (wrong >= 0 && answer.first_wrong < 0) answer.first_wrong = answer.bytes + wrong;
      answer.bytes += taken;
      continue;
    }
    answer.error = taken == 0 ? 0 : errno;
    pollfd readable = {command.fd, POLLIN, 0};
    if (taken == 0 || errno != EAGAIN || poll(&readable, 1, kDrainMs) <= 0) break;
    answer.error = 0;
  }
  return answer;
}

}  // namespace twin
