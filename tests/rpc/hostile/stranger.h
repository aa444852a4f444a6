// An end of a link that says whatever it likes: a client's handle of libtirpc, by which it asks for a token, and an exs socket.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <exs/exs.h>
#include <rpc/rpc.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace hostile {

using Bytes = std::vector<unsigned char>;
inline constexpr std::size_t kTokenBytes = 16;

enum Type : unsigned char { kHello = 1, kWelcome = 2, kMessage = 3, kLong = 4 };
// A frame, right or wrong: its header says this type and this length.
Bytes frame(unsigned char type, std::uint32_t length, const Bytes& body = {});
// The call of a procedure of the server, as it is right.
Bytes call_message(std::uint32_t procedure, const Bytes& arguments = {});

// A connection by TCP that has been answered with a place and a token.
class Handle {
 public:
  explicit Handle(int server_port);
  ~Handle();
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  // False: refused.
  bool ask();
  // Whether a plain call is answered.
  bool is_served();

  std::uint16_t port = 0;
  Bytes token;

 private:
  CLIENT* client_;
};

// Ends when anything of its own goes wrong.
class Stranger {
 public:
  explicit Stranger(std::uint16_t port);
  ~Stranger();
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  // A message of exs. False: the link has ended.
  bool send(const Bytes& message);
  bool send_apart(const Bytes& message);  // as the bodies of long messages go
  bool greet(const Bytes& token) { return send(frame(kHello, kTokenBytes, token)); }
  // What the server does next: "ended", "welcome", "reply", "long reply", "frame TYPE", or "nothing" within the limit.
  std::string awaits(std::int64_t limit_ns = std::int64_t{60'000'000'000});

 private:
  bool post_receive();

  exs_qhandle_t queue_;
  int socket_;
  bool has_ended_ = false;
  std::vector<Bytes> sent_;  // not taken by the server yet, perhaps
  std::array<unsigned char, 8192> received_{};
};

[[noreturn]] void give_up(const std::string& what);

}  // namespace hostile
