// Says to a server what no link says (rpc/FORMAT.md), and prints what the server does, a case a line:
//   rpc-hostile cases PORT                   each case with a connection of its own
//   rpc-hostile crowd PORT STRANGERS         links without HELLO, until the standard input ends
//   rpc-hostile random PORT ROUNDS SEED      right messages with wrong bytes
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/rpc/hostile/stranger.h"

namespace {

using namespace hostile;

constexpr std::uint32_t kEcho = 1;
constexpr std::uint32_t kAboveLongest = (std::uint32_t{256} << 20U) + 4;
constexpr std::uint32_t kInline = 4096;

std::unique_ptr<Handle> handle_with_token(int port) {
  auto handle = std::make_unique<Handle>(port);
  if (!handle->ask()) give_up("the server refuses");
  return handle;
}

// A message that decodes, whose word at `place` is another.
Bytes call_with(std::size_t place, std::uint32_t word) {
  Bytes bytes = call_message(0);
  for (std::size_t i = 0; i < 4; ++i) bytes[4 * place + i] = static_cast<unsigned char>(word >> (24 - 8 * i));
  return bytes;
}

struct Case {
  const char* name;
  bool has_greeted;
  std::vector<Bytes> messages;
  Bytes apart = {};  // behind the others
};

// The first frame of a stranger, but for the last ones: those have a link.
const std::vector<Case> kCases = {
    {"nothing but a header's half", false, {{1, 0, 0, 0}}},
    {"no byte at all", false, {{}}},
    {"type 0", false, {frame(0, 0)}},
    {"type 5", false, {frame(5, 16, Bytes(16))}},
    {"type 255", false, {frame(255, 16, Bytes(16))}},
    {"a bit that is to be zero", false, {{1, 0, 1, 0, 0, 0, 0, 16, 1, 2, 3, 4,
                                          5, 6, 7, 8, 1, 2, 3, 4,  5, 6, 7, 8}}},
    {"a token of the stranger's own", false, {frame(kHello, kTokenBytes, Bytes(kTokenBytes))}},
    {"a short token", false, {frame(kHello, 15, Bytes(15))}},
    {"a long token", false, {frame(kHello, 17, Bytes(17))}},
    {"no token", false, {frame(kHello, 0)}},
    {"a call first", false, {frame(kMessage, 40, call_message(0))}},
    {"WELCOME first", false, {frame(kWelcome, 0)}},
    {"a long message first", false, {frame(kLong, 5000)}, Bytes(5000)},
    {"a longer frame than there is", false, {Bytes(5000, 1)}},

    {"a second HELLO", true, {frame(kHello, kTokenBytes, Bytes(kTokenBytes))}},
    {"WELCOME", true, {frame(kWelcome, 0)}},
    {"type 7", true, {frame(7, 0)}},
    {"a length above the frame's", true, {frame(kMessage, 41, call_message(0))}},
    {"a length below the frame's", true, {frame(kMessage, 39, call_message(0))}},
    {"the greatest length", true, {frame(kMessage, UINT32_MAX, call_message(0))}},
    {"a long message above the longest", true, {frame(kLong, kAboveLongest)}},
    {"the longest word as a length", true, {frame(kLong, UINT32_MAX)}},
    {"a long message of no bytes", true, {frame(kLong, 0)}},
    {"a long message that is short", true, {frame(kLong, kInline)}},
    {"a frame in place of a body", true, {frame(kLong, 5000), frame(kMessage, 40, call_message(0))}},
    {"a body above its length", true, {frame(kLong, 5000)}, Bytes(5004)},
    {"a body below its length", true, {frame(kLong, 5000)}, Bytes(4996)},
    {"a body of zeros", true, {frame(kLong, 5000)}, Bytes(5000)},
    {"a message of no bytes", true, {frame(kMessage, 0)}},
    {"a message that ends early", true, {frame(kMessage, 20, Bytes(20))}},
    {"noise", true, {frame(kMessage, 400, Bytes(400, 0xa5))}},
    {"a reply", true, {frame(kMessage, 40, call_with(1, 1))}},
    {"a credential above its limit", true, {frame(kMessage, 40, call_with(7, 401))}},
    {"a credential above the message", true, {frame(kMessage, 40, call_with(7, 400))}},
    {"the greatest credential", true, {frame(kMessage, 40, call_with(7, UINT32_MAX))}},
    {"a verifier above the message", true, {frame(kMessage, 40, call_with(9, 400))}},
    {"no such version of RPC", true, {frame(kMessage, 40, call_with(2, 3))}},  // as libtirpc's by TCP
    // These are wrong calls, not wrong messages.
    {"no such program", true, {frame(kMessage, 40, call_with(3, 77))}},
    {"no such procedure", true, {frame(kMessage, 40, call_message(77))}},
    {"an unknown credential", true, {frame(kMessage, 40, call_with(6, 77))}},
    {"arguments that say they are longer",
     true,
     {frame(kMessage, 44, call_message(kEcho, {0xff, 0xff, 0xff, 0xff}))}},
    {"no arguments", true, {frame(kMessage, 40, call_message(kEcho))}},
    {"a right call", true, {frame(kMessage, 44, call_message(kEcho, {0, 0, 0, 0}))}},
};

std::string play(const Case& wrong, int port) {
  const auto handle = handle_with_token(port);
  Stranger stranger(handle->port);
  if (wrong.has_greeted) {
    stranger.greet(handle->token);
    if (stranger.awaits() != "welcome") return "no welcome";
  }
  bool is_up = true;
  for (const Bytes& message : wrong.messages) is_up = is_up && stranger.send(message);
  if (is_up && !wrong.apart.empty()) stranger.send_apart(wrong.apart);
  const std::string told = stranger.awaits();
  // The connection that the link stood beside is no worse for it.
  return told + (handle->is_served() ? "" : ", and TCP is not served");
}

void say(const char* name, const std::string& told) {
  std::printf("%s: %s\n", name, told.c_str());
}

void play_tokens(int port) {
  auto handle = handle_with_token(port);
  {
    Stranger first(handle->port);
    first.greet(handle->token);
    say("a token", first.awaits());
    Stranger second(handle->port);
    second.greet(handle->token);
    say("the same token again", second.awaits());
    first.send(frame(kMessage, 40, call_message(0)));
    say("who had it first", first.awaits());
    say("a second token of a connection with a link", handle->ask() ? "given" : "refused");
  }
  handle = handle_with_token(port);
  const Bytes older = handle->token;
  handle->ask();
  Stranger late(handle->port);
  late.greet(older);
  say("a token before the newest", late.awaits());
  Stranger heir(handle->port);
  const std::uint16_t place = handle->port;
  const Bytes orphan = handle->token;
  handle.reset();
  // A connection has its turn after those whose bytes were there before it, so the server knows of the end by then.
  if (!Handle(port).is_served()) give_up("another connection is not served");
  heir.greet(orphan);
  say("a token whose connection has ended", heir.awaits());
  handle = handle_with_token(port);
  if (handle->port != place) give_up("the server has another place now");
  Stranger waiting(handle->port);
  waiting.greet(handle->token);
  waiting.awaits();
  waiting.send(frame(kLong, 1U << 20U));
  say("a body that does not come, meanwhile", handle->is_served() ? "TCP is served" : "TCP is not served");
}

int play_cases(int port) {
  for (const Case& wrong : kCases) say(wrong.name, play(wrong, port));
  play_tokens(port);
  return 0;
}

int play_crowd(int port, int count) {
  const auto handle = handle_with_token(port);
  std::vector<std::unique_ptr<Stranger>> strangers;
  for (int i = 0; i < count; ++i) strangers.push_back(std::make_unique<Stranger>(handle->port));
  int ended = 0;
  for (int i = count; i-- > 0;) {
    const bool is_first = i < 256;
    ended +=
        strangers[static_cast<std::size_t>(i)]->awaits(is_first ? 0 : std::int64_t{60'000'000'000}) == "ended"
            ? 1
            : 0;
  }
  std::printf("%d strangers, %d ended at once\n", count, ended);
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}

// Each of these changes is small, so that much of a message is looked at before it is found to be wrong.
Bytes spoil(Bytes bytes, std::mt19937& random) {
  for (auto changes = random() % 4; changes-- > 0;) {
    const std::size_t place = random() % bytes.size();
    switch (random() % 4) {
      case 0: bytes[place] ^= static_cast<unsigned char>(1U << random() % 8); break;
      case 1: bytes[place] = static_cast<unsigned char>(random()); break;
      case 2: bytes.resize(std::max<std::size_t>(place, 1)); break;
      default:
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(place), 4,
                     static_cast<unsigned char>(random()));
    }
  }
  return bytes;
}

Bytes random_call(std::mt19937& random) {
  // WAIT_FOR (7) and MAKE (8) do as much as they are told to.
  const Bytes call = call_message(static_cast<std::uint32_t>(random() % 7), {0, 0, 0, 4, 1, 2, 3, 4});
  const Bytes spoiled = spoil(call, random);
  const Bytes whole = frame(kMessage, static_cast<std::uint32_t>(spoiled.size()), spoiled);
  return random() % 4 == 0 ? spoil(whole, random) : whole;
}

int play_random(int port, int rounds, unsigned seed) {
  std::mt19937 random(seed);
  int ended = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto handle = handle_with_token(port);
    Stranger stranger(handle->port);
    stranger.greet(handle->token);
    if (stranger.awaits() != "welcome") give_up("no welcome");
    for (int step = 0; step < 50; ++step) {
      const Bytes message = random_call(random);
      // What has no reply (ADD, and what WAIT_FOR or MAKE were turned into) is not waited for.
      if (!stranger.send(message) || stranger.awaits(1'000'000) == "ended") {
        ++ended;
        break;
      }
    }
    if (!handle->is_served()) give_up("TCP is not served");
  }
  std::printf("%d of %d links have ended\n", ended, rounds);
  return ended > 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  if (count < 3 || exs_init(EXS_VERSION) != 0) return 2;
  const std::string what = words[1];
  const int port = std::atoi(words[2]);
  if (what == "cases" && count == 3) return play_cases(port);
  if (what == "crowd" && count == 4) return play_crowd(port, std::atoi(words[3]));
  if (what == "random" && count == 5)
    return play_random(port, std::atoi(words[3]), static_cast<unsigned>(std::strtoul(words[4], nullptr, 10)));
  return 2;
}
