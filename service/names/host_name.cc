// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/host_name.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace exs::svc {
namespace {

constexpr std::uint32_t kQuestion = 0x45585351;  // "EXSQ"
constexpr int kBacklog = 64;

struct Name {
  sockaddr_un address{};
  socklen_t bytes = 0;
};

Name name_of(const IdBytes& id) {
  Name name;
  name.address.sun_family = AF_UNIX;
  const std::string text = "exs-svc/" + hex(public_name(id));
  std::memcpy(name.address.sun_path + 1, text.data(), text.size());
  name.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

UniqueFd make_socket() {
  return UniqueFd(kernel::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

Result<UniqueFd> claim_host_name(const IdBytes& id) {
  UniqueFd socket = make_socket();
  if (!socket.valid()) return failure(errno);
  const Name name = name_of(id);
  if (kernel::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.bytes) != 0 ||
      kernel::listen(socket.get(), kBacklog) != 0)
    return failure(errno);
  return socket;
}

Result<UniqueFd> ask_host_name(const IdBytes& id) {
  UniqueFd socket = make_socket();
  if (!socket.valid()) return failure(errno);
  const Name name = name_of(id);
  if (kernel::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.bytes) != 0)
    return failure(errno);
  std::array<std::uint8_t, kQuestionBytes> question;
  Writer writer(question);
  writer.number(kQuestion);
  writer.raw(id);
  if (kernel::send(socket.get(), question.data(), question.size(), MSG_NOSIGNAL) < 0) return failure(errno);
  return socket;
}

bool answer_host_question(int connection, const IdBytes& id, Bytes record) {
  std::array<std::uint8_t, kQuestionBytes + 1> question;
  const ssize_t bytes = kernel::recv(connection, question.data(), question.size(), MSG_DONTWAIT);
  if (bytes < 0 && errno == EAGAIN) return false;
  if (bytes != static_cast<ssize_t>(kQuestionBytes)) return true;
  Reader reader(Bytes(question).first(kQuestionBytes));
  const auto what = reader.number<std::uint32_t>();
  const IdBytes about = reader.array<16>();
  if (what == kQuestion && sodium_memcmp(about.data(), id.data(), id.size()) == 0)
    static_cast<void>(kernel::send(connection, record.data(), record.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  return true;
}

std::optional<Record> read_host_answer(int asked, const IdBytes& id) {
  std::array<std::uint8_t, kRecordMax + 1> answer;
  const ssize_t bytes = kernel::recv(asked, answer.data(), answer.size(), MSG_DONTWAIT);
  if (bytes <= 0) return {};
  return decode_record(Bytes(answer).first(static_cast<std::size_t>(bytes)), id);
}

Holder holder_of(int asked) {
  ucred owner{};
  socklen_t length = sizeof owner;
  Holder holder;
  if (kernel::getsockopt(asked, SOL_SOCKET, SO_PEERCRED, &owner, &length) != 0) return holder;
  holder.process = owner.pid;
  holder.user = owner.uid;
  std::ifstream file("/proc/" + std::to_string(owner.pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // The program's name comes before it, and may contain any character.
  const std::size_t name_end = text.rfind(')');
  const char state = name_end == std::string::npos || name_end + 2 >= text.size() ? '?' : text[name_end + 2];
  holder.is_stopped = state == 'T' || state == 't';
  return holder;
}

std::string text_of(const Holder& holder) {
  if (holder.process <= 0) return "a process that is not seen here";
  return "process " + std::to_string(holder.process) + (holder.is_stopped ? ", which is stopped," : "");
}

}  // namespace exs::svc
