// A whole directory, with connections that greet, claim with their own signature or another, renew, watch, and say anything besides.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "base/socket_address.h"
#include "base/unique_fd.h"
#include "service/names/directory_wire.h"
#include "service/names/key.h"
#include "service/names/record.h"
#include "tests/fuzz/fuzz.h"
#include "tools/directory/server.h"

namespace exs::fuzz::service_directory_server {

using namespace exs::svc;

class Client {
 public:
  explicit Client(const sockaddr_storage& server)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    hold(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&server), sizeof(sockaddr_in)) == 0,
         "a connection");
    ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  }
  void say(const std::vector<std::uint8_t>& bytes) const {
    [[maybe_unused]] const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // The directory's greeting has the nonce that claims are signed for.
  void hear() {
    std::array<std::uint8_t, 4096> room;
    const ssize_t count = ::recv(socket_.get(), room.data(), room.size(), 0);
    if (count <= 0) return;
    const svc::Bytes bytes(room.data(), static_cast<std::size_t>(count));
    const auto length = directory_message_bytes(bytes);
    if (!length || *length == 0 || *length > bytes.size()) return;
    const auto message = decode_directory(bytes.first(*length));
    if (message && message->type == DirectoryType::kGreeting) nonce = message->nonce;
  }
  Nonce nonce{};

 private:
  UniqueFd socket_;
};

const Key& key_of(std::uint64_t number) {
  static const std::array<Key, 3> keys = [] {
    std::array<std::array<std::uint8_t, Key::kSeedBytes>, 3> seeds{};
    for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i].fill(static_cast<std::uint8_t>(i + 1));
    return std::array<Key, 3>{Key(seeds[0]), Key(seeds[1]), Key(seeds[2])};
  }();
  return keys[number % keys.size()];
}

std::vector<std::uint8_t> any_message(Input& input, const Client& client) {
  const Key& key = key_of(input.below(3));
  const auto record = encode_record(
      {key.public_key(), input.below(3), input.below(3), {*parse_address("127.0.0.1:7000")}}, key);
  DirectoryMessage message;
  message.type = static_cast<DirectoryType>(1 + input.below(16));
  message.nonce[0] = static_cast<std::uint8_t>(input.below(3));
  message.id = key.id();
  message.is_fenced = input.one_in(2);
  message.number =
      static_cast<std::uint32_t>(input.one_in(4) ? input.near(kLeaseMaxMs) : 1 + input.below(60'000));
  message.record = record;
  message.signature =
      (input.one_in(4) ? key_of(input.below(3)) : key).sign(claim_statement(client.nonce, record));
  std::vector<std::uint8_t> bytes;
  append_directory(bytes, message);
  if (input.one_in(8)) bytes[input.below(bytes.size())] ^= static_cast<std::uint8_t>(1 + input.below(255));
  return bytes;
}

}  // namespace exs::fuzz::service_directory_server

EXS_FUZZ_TARGET(service_directory_server) {
  using namespace exs::fuzz::service_directory_server;
  DirectoryServer server(*exs::parse_address("127.0.0.1:0"), "", false, 2);
  std::vector<Client> clients;
  for (int steps = 0; steps < 60 && !input.has_ended(); ++steps) {
    if (clients.empty() || (clients.size() < 4 && input.one_in(16))) {
      clients.emplace_back(server.address());
      server.turn(0);
      clients.back().hear();
      continue;
    }
    Client& client = clients[input.below(clients.size())];
    if (input.one_in(16)) {
      clients.erase(clients.begin() + static_cast<std::ptrdiff_t>(input.below(clients.size())));
    } else if (input.one_in(6)) {
      const auto bytes = input.bytes(input.below(100));
      const auto* const start = reinterpret_cast<const std::uint8_t*>(bytes.data());
      client.say({start, start + bytes.size()});
    } else {
      client.say(any_message(input, client));
    }
    server.turn(0);
    if (input.one_in(2)) client.hear();
  }
  exs::fuzz::hold(server.connections() <= clients.size() + 60, "no more connections than were made");
}
