// SPDX-License-Identifier: BSD-2-Clause
#include "tests/rpc/hostile/stranger.h"

#include <arpa/inet.h>
#include <rendezvous.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hostile {
namespace {

constexpr std::uint32_t kProgram = 0x20004d58;  // matrix.x
constexpr timeval kLimit = {60, 0};
constexpr std::size_t kSmallMax = 8 + 4096;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

template <typename Function>
xdrproc_t coder(Function* function) {
  return reinterpret_cast<xdrproc_t>(reinterpret_cast<void*>(function));
}

}  // namespace

void give_up(const std::string& what) {
  std::fprintf(stderr, "hostile: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(2);
}

Bytes frame(unsigned char type, std::uint32_t length, const Bytes& body) {
  Bytes bytes{type, 0, 0, 0};
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<unsigned char>(length >> shift));
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

Bytes call_message(std::uint32_t procedure, const Bytes& arguments) {
  Bytes bytes;
  // Number, CALL, version of RPC, program, version, procedure, no credential, no verifier.
  for (const std::uint32_t word : {7U, 0U, 2U, kProgram, 1U, procedure, 0U, 0U, 0U, 0U})
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<unsigned char>(word >> shift));
  bytes.insert(bytes.end(), arguments.begin(), arguments.end());
  return bytes;
}

Handle::Handle(int server_port) {
  sockaddr_in address = loopback(static_cast<std::uint16_t>(server_port));
  int socket = RPC_ANYSOCK;
  client_ = clnttcp_create(&address, kProgram, 1, &socket, 0, 0);
  if (client_ == nullptr) give_up("no connection to the server");
}
Handle::~Handle() {
  auth_destroy(client_->cl_auth);
  clnt_destroy(client_);
}

bool Handle::ask() {
  u_int32_t number = EXS_RENDEZVOUS;
  clnt_control(client_, CLSET_PROG, &number);
  offer asked{0, 1, 4096};
  answer told{};
  const clnt_stat status =
      clnt_call(client_, OFFER, coder(xdr_offer), &asked, coder(xdr_answer), &told, kLimit);
  number = kProgram;
  clnt_control(client_, CLSET_PROG, &number);
  if (status != RPC_SUCCESS || told.status != OFFER_OK) return false;
  port = static_cast<std::uint16_t>(told.answer_u.place.port);
  token.assign(told.answer_u.place.token, told.answer_u.place.token + kTokenBytes);
  return true;
}

bool Handle::is_served() {
  const auto nothing = coder(xdr_void);
  return clnt_call(client_, NULLPROC, nothing, nullptr, nothing, nullptr, kLimit) == RPC_SUCCESS;
}

Stranger::Stranger(std::uint16_t port)
    : queue_(exs_qcreate(64)), socket_(exs_socket(AF_INET, SOCK_SEQPACKET, 0)) {
  const sockaddr_in address = loopback(port);
  exs_event_t event{};
  if (queue_ == EXS_QHANDLE_INVALID || socket_ < 0 ||
      exs_fcntl(socket_, EXS_F_SET_SMALL_MAX, kSmallMax) != 0 ||
      exs_connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address, 0, queue_, nullptr) !=
          0 ||
      exs_qwait(queue_, &event, 1, 1, std::int64_t{60'000'000'000}) != 1 || event.exs_evt_errno != 0)
    give_up("no exs connection to the server");
  has_ended_ = !post_receive();  // the server may have ended it already
}
Stranger::~Stranger() {
  constexpr int kAtOnce = 0;
  exs_setsockopt(socket_, SOL_EXS, EXS_SO_LINGER_MS, &kAtOnce, sizeof kAtOnce);
  exs_close(socket_);
  exs_qdelete(queue_);
}

bool Stranger::post_receive() {
  return exs_recv(socket_, received_.data(), received_.size(), 0, queue_, nullptr,
                  EXS_MHANDLE_UNREGISTERED) == 0;
}

bool Stranger::send(const Bytes& message) {
  return exs_send(socket_, message.data(), message.size(), EXS_NO_EVENT, queue_, nullptr,
                  EXS_MHANDLE_UNREGISTERED) == 0;
}
bool Stranger::send_apart(const Bytes& message) {
  sent_.push_back(message);
  return exs_send(socket_, sent_.back().data(), message.size(), EXS_NO_IMMEDIATE, queue_, nullptr,
                  EXS_MHANDLE_UNREGISTERED) == 0;
}

std::string Stranger::awaits(std::int64_t limit_ns) {
  if (has_ended_) return "ended";
  for (;;) {
    exs_event_t event{};
    const int count = exs_qwait(queue_, &event, 1, 1, limit_ns);
    if (count == 0) return "nothing";
    if (count < 0) give_up("exs_qwait");
    if (event.exs_evt_errno != 0 || (event.exs_evt_flags & EXS_EVF_EOF) != 0) return "ended";
    if (event.exs_evt_type != EXS_EVT_RECV) continue;
    const unsigned char type = received_[0];
    if (!post_receive()) return "ended";
    if (type == kWelcome) return "welcome";
    if (type == kMessage) return "reply";
    return type == kLong ? "long reply" : "frame " + std::to_string(type);
  }
}

}  // namespace hostile
