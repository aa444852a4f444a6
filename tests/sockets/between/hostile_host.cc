// A host that violates the lane between hosts. It meets an honest program in the regular way. It sends valid
// frames first, then one with a wrong word, or several with random words. A line of JSON tells what it sent,
// and how many such frames.
//
//   sockets-hostile-host calling VICTIM_PORT AGENT_PORT ROUNDS SEED    the victim accepts (hostile/victim.py listen)
//   sockets-hostile-host called ROUNDS SEED    the victim connects; prints two ports: TCP's and the agent's
// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <exs/exs.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "sockets/between/format.h"
#include "sockets/between/socket_name.h"
#include "sockets/lane/direction.h"

namespace {

using namespace exs::sockets::between;
using exs::lane::kNoTurn;

constexpr int kLimitS = 60;
constexpr std::uint64_t kCapacity = 4096;
constexpr std::uint32_t kBell = 7;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}
template <typename T>
T check(T result, const char* what) {
  if (result == -1) give_up(what);
  return result;
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}
Place16 place_of(const sockaddr_in& address) {
  Place16 place{};
  place.address[10] = place.address[11] = 0xff;
  std::memcpy(place.address + 12, &address.sin_addr, 4);
  place.port = ntohs(address.sin_port);
  return place;
}
template <typename Name>
sockaddr_in name_of(int socket, Name name) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  check(name(socket, reinterpret_cast<sockaddr*>(&address), &length), "a socket's name");
  return address;
}

// A TCP socket whose calls do not wait for ever.
class Tcp {
 public:
  explicit Tcp(int number) : number_(number) {
    const timeval limit{kLimitS, 0};
    setsockopt(number_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(number_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }
  Tcp(const Tcp&) = delete;
  Tcp& operator=(const Tcp&) = delete;
  ~Tcp() { close(number_); }
  static int connected(int port) {
    const int number = check(socket(AF_INET, SOCK_STREAM, 0), "socket");
    const sockaddr_in address = loopback(port);
    check(connect(number, reinterpret_cast<const sockaddr*>(&address), sizeof address), "connect");
    return number;
  }
  static int listening(int backlog) {
    const int number = check(socket(AF_INET, SOCK_STREAM, 0), "socket");
    const sockaddr_in address = loopback(0);
    check(bind(number, reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind");
    check(listen(number, backlog), "listen");
    return number;
  }

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  // False: the victim has ended the connection.
  bool send(const void* bytes, std::size_t count) {
    const ssize_t result = ::send(number_, bytes, count, MSG_NOSIGNAL);
    if (result > 0) sent_ += static_cast<std::uint64_t>(result);
    return result == static_cast<ssize_t>(count);
  }
  bool receive(void* bytes, std::size_t count) {
    return recv(number_, bytes, count, MSG_WAITALL) == static_cast<ssize_t>(count);
  }
  // Makes the victim execute a call or two.
  void echo() {
    char byte = 'e';
    if (!send(&byte, 1) || !receive(&byte, 1) || byte != 'e') give_up("an echo");
  }
  [[nodiscard]] bool is_readable() const {
    pollfd one{number_, POLLIN, 0};
    return poll(&one, 1, 0) > 0;
  }

 private:
  int number_;
  std::uint64_t sent_ = 0;
};

// The victim's calls lead to an event. False: not in time.
bool echo_until(exs_qhandle_t queue, exs_event_t& event, Tcp& tcp, std::chrono::milliseconds limit) {
  const timeval now{0, 0};
  const auto end = std::chrono::steady_clock::now() + limit;
  while (exs_qdequeue(queue, &event, 1, &now) == 0) {
    if (std::chrono::steady_clock::now() > end) return false;
    tcp.echo();
  }
  return true;
}

// The exs stream. Each operation is awaited before the next one.
class Stream {
 public:
  explicit Stream(exs_qhandle_t queue) : queue_(queue) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (number_ < 0) return;
    check(exs_close_async(number_, 0, queue_, nullptr), "exs_close_async");
    while (await("the end of a stream").exs_evt_type != EXS_EVT_CLOSE) {
    }
  }
  void take(int number) { number_ = number; }
  void connect(const Place16& peer) {
    const SocketName name(peer);
    number_ = open();
    check(exs_connect(number_, name.address(), name.length(), 0, queue_, nullptr), "exs_connect");
    if (await("a stream").exs_evt_errno != 0) give_up("the victim does not listen");
  }
  static int open() {
    const int number = check(exs_socket(AF_INET, SOCK_STREAM, 0), "exs_socket");
    constexpr char kProvider[] = "require:iwarp";
    const int linger_ms = 200;
    check(exs_setsockopt(number, SOL_EXS, EXS_SO_PROVIDER, kProvider, sizeof kProvider - 1),
          "EXS_SO_PROVIDER");
    check(exs_setsockopt(number, SOL_EXS, EXS_SO_LINGER_MS, &linger_ms, sizeof linger_ms),
          "EXS_SO_LINGER_MS");
    return number;
  }
  // False: the stream has ended.
  bool send(const void* bytes, std::size_t count) {
    return exs_send(number_, bytes, count, 0, queue_, nullptr, EXS_MHANDLE_UNREGISTERED) == 0 &&
           await("a send").exs_evt_errno == 0;
  }
  // If `tcp` is given, the victim makes calls on it meanwhile.
  bool receive(void* bytes, std::size_t count, Tcp* tcp = nullptr) {
    if (exs_recv(number_, bytes, count, MSG_WAITALL, queue_, nullptr, EXS_MHANDLE_UNREGISTERED) != 0)
      return false;
    exs_event_t event{};
    bool is_there = true;
    if (tcp == nullptr)
      event = await("a receive");
    else
      is_there = echo_until(queue_, event, *tcp, std::chrono::seconds(kLimitS));
    return is_there && event.exs_evt_errno == 0 && (event.exs_evt_flags & EXS_EVF_EOF) == 0;
  }

 private:
  [[nodiscard]] exs_event_t await(const char* what) const {
    exs_event_t event{};
    const timeval limit{kLimitS, 0};
    if (exs_qdequeue(queue_, &event, 1, &limit) != 1) give_up(what);
    return event;
  }

  exs_qhandle_t queue_;
  int number_ = -1;
};

// The wrong word of an otherwise valid frame.
struct Lie {
  const char* word;
  std::uint64_t value;
};
constexpr std::uint64_t kValues[] = {0,
                                     1,
                                     2,
                                     3,
                                     77,
                                     kCapacity,
                                     kCapacity + 1,
                                     std::uint64_t{1} << 31,
                                     (std::uint64_t{1} << 32) - 1,
                                     std::uint64_t{1} << 63,
                                     kNoTurn - 1,
                                     kNoTurn};
constexpr const char* kWords[] = {"magic", "bytes",    "position", "start",  "mark",  "turn", "epoch",
                                  "final", "consumed", "passed",   "turned", "bells", "flags"};
constexpr std::size_t kLies = std::size(kValues) * std::size(kWords);

void tell(HostFrame& frame, const Lie& lie) {
  const auto small = static_cast<std::uint32_t>(lie.value);
  const std::string word = lie.word;
  if (word == "magic") frame.magic = small;
  if (word == "bytes") frame.bytes = small;
  if (word == "position") frame.position = lie.value;
  if (word == "start") frame.start = lie.value;
  if (word == "mark") frame.mark = lie.value;
  if (word == "turn") frame.turn = lie.value;
  if (word == "epoch") frame.epoch = small;
  if (word == "final") frame.final = small;
  if (word == "consumed") frame.consumed = lie.value;
  if (word == "passed") frame.passed = small;
  if (word == "turned") frame.turned = small;
  if (word == "bells") frame.bells = small;
  if (word == "flags") frame.flags = small;
}

HostFrame first_frame() {
  HostFrame frame{};
  frame.magic = kFrameMagic;
  frame.turn = kNoTurn;
  frame.flags = kReady;
  return frame;
}

// One connection, after both ends have the stream.
class Round {
 public:
  Round(Tcp& tcp, Stream& stream, std::size_t number, std::mt19937_64& dice)
      : tcp_(tcp), stream_(stream), number_(number), dice_(dice) {}

  void play() {
    static constexpr char kHow[] = {'r', 'p', 's', 'k'};
    const char how = kHow[number_ % std::size(kHow)];
    const bool is_warm = number_ / std::size(kHow) % 2 == 0;
    HostFrame frame = first_frame();
    bool lives = stream_.send(&frame, sizeof frame);
    lives = lives && tcp_.send(&how, 1);
    // The ring has bytes before the lie, or the lie brings the first ones.
    if (lives && is_warm) lives = send_bytes(frame, 100);
    const int lies = number_ < kLies ? 1 : 40;
    int told = 0;
    for (; told < lies && lives; ++told) {
      HostFrame wrong = frame;
      next(wrong, 50);
      lie(wrong);
      // Sends at most as many bytes as the victim accepts for the ring.
      lives = stream_.send(&wrong, sizeof wrong) &&
              (wrong.bytes == 0 || stream_.send(bytes_.data(), bytes_.size()));
    }
    std::printf("{\"how\": \"%c\", \"warm\": %s, \"told\": %d, \"lie\": \"%s\"}\n", how,
                is_warm ? "true" : "false", told, what_.c_str());
    std::fflush(stdout);
  }

 private:
  void next(HostFrame& frame, std::uint32_t bytes) const {
    if (frame.epoch == 0) {
      frame.epoch = 1;
      frame.mark = tcp_.sent();
    }
    frame.position += frame.bytes;
    frame.bytes = bytes;
  }
  bool send_bytes(HostFrame& frame, std::uint32_t bytes) {
    next(frame, bytes);
    return stream_.send(&frame, sizeof frame) && stream_.send(bytes_.data(), bytes);
  }
  void lie(HostFrame& frame) {
    if (number_ < kLies) {
      const Lie lie{kWords[number_ / std::size(kValues)], kValues[number_ % std::size(kValues)]};
      tell(frame, lie);
      what_ = std::string(lie.word) + "=" + std::to_string(lie.value);
      return;
    }
    what_ = "random";
    const int count = 1 + static_cast<int>(dice_() % 3);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t near = frame.position + dice_() % 5 - 2;
      const std::uint64_t value = dice_() % 2 == 0 ? near : kValues[dice_() % std::size(kValues)];
      tell(frame, {kWords[dice_() % std::size(kWords)], value});
    }
  }

  Tcp& tcp_;
  Stream& stream_;
  std::size_t number_;
  std::mt19937_64& dice_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kCapacity + 1);
  std::string what_;
};

HostToken token_of(std::mt19937_64& dice) {
  HostToken token{};
  for (std::uint8_t& byte : token.bytes) byte = static_cast<std::uint8_t>(dice());
  return token;
}

// The called host's agent places the invitation.
void ask_agent(int agent_port, const AgentRequest& request) {
  Tcp agent(Tcp::connected(agent_port));
  AgentAnswer answer{};
  if (!agent.send(&request, sizeof request) || !agent.receive(&answer, sizeof answer) ||
      answer.verdict != Verdict::kPlaced)
    give_up("the agent places no invitation");
}

void play_calling(int victim_port, int agent_port, std::size_t rounds, std::mt19937_64& dice,
                  exs_qhandle_t queue) {
  const int listener = Stream::open();
  const sockaddr_in any = loopback(0);
  check(exs_bind(listener, reinterpret_cast<const sockaddr*>(&any), sizeof any), "exs_bind");
  check(exs_listen(listener, 16), "exs_listen");
  const sockaddr_in meets_at = name_of(listener, exs_getsockname);
  int left_to_tcp = 0;
  bool accepts = false;
  for (std::size_t number = 0; number < rounds;) {
    Tcp tcp(Tcp::connected(victim_port));
    AgentRequest request{};
    request.magic = kRequestMagic;
    request.caller = place_of(name_of(tcp.number(), getsockname));
    request.called = place_of(name_of(tcp.number(), getpeername));
    request.meets_at = place_of(meets_at);
    request.token = token_of(dice);
    ask_agent(agent_port, request);
    if (!accepts) check(exs_accept(listener, nullptr, 0, queue, nullptr), "exs_accept");
    exs_event_t event{};
    accepts = !echo_until(queue, event, tcp, std::chrono::seconds(1));
    if (accepts) {  // a slow agent leaves the connection to TCP
      constexpr int kLeftMax = 20;
      if (++left_to_tcp > kLeftMax) give_up("the victim does not come");
      std::printf("{\"lie\": \"none\"}\n");
      std::fflush(stdout);
      continue;
    }
    Stream stream(queue);
    stream.take(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
    HostHello hello{};
    if (!stream.receive(&hello, sizeof hello) ||
        std::memcmp(&hello.token, &request.token, sizeof hello.token) != 0)
      give_up("the victim shows no token");
    Round(tcp, stream, number++, dice).play();
  }
  exs_close(listener);
}

// Wrong words of a HostHello; the last one is valid.
HostHello hello_of(const HostToken& token, std::size_t number) {
  HostHello hello{kHelloMagic, token, kCapacity, kBell, 0};
  switch (number) {
    case 0: hello.magic ^= 1; break;
    case 1: hello.token.bytes[15] ^= 1; break;
    case 2: hello.capacity = 0; break;
    case 3: hello.capacity = 3 * kCapacity; break;
    case 4: hello.capacity = std::uint64_t{1} << 63; break;
    case 5: hello.bell = 256; break;
    default: break;
  }
  return hello;
}
constexpr std::size_t kWrongHellos = 6;

void play_called(std::size_t rounds, std::mt19937_64& dice, exs_qhandle_t queue) {
  const Tcp listener(Tcp::listening(16));
  const Tcp agents(Tcp::listening(16));
  std::printf("%d %d\n", ntohs(name_of(listener.number(), getsockname).sin_port),
              ntohs(name_of(agents.number(), getsockname).sin_port));
  std::fflush(stdout);
  for (std::size_t number = 0; number < rounds; ++number) {
    Tcp tcp(check(accept(listener.number(), nullptr, nullptr), "accept"));
    for (int calls = 0; !agents.is_readable(); ++calls) {
      if (calls > 10'000) give_up("the victim asks no agent");
      tcp.echo();
    }
    Tcp asking(check(accept(agents.number(), nullptr, nullptr), "accept"));
    AgentRequest request{};
    const AgentAnswer answer{kRequestMagic, Verdict::kPlaced, 0};
    if (!asking.receive(&request, sizeof request) || !asking.send(&answer, sizeof answer))
      give_up("a request");
    Stream stream(queue);
    stream.connect(request.meets_at);
    const HostHello hello = hello_of(request.token, number);
    if (!stream.send(&hello, sizeof hello)) give_up("a hello");
    if (number < kWrongHellos) {
      std::byte none;
      if (stream.receive(&none, 1)) give_up("the victim takes a wrong hello");
      std::printf("{\"lie\": \"hello %zu\"}\n", number);
      std::fflush(stdout);
      continue;
    }
    // The victim's first frame shows that it has joined.
    HostFrame first{};
    if (!stream.receive(&first, sizeof first, &tcp)) give_up("the victim does not join");
    Round(tcp, stream, number - kWrongHellos, dice).play();
  }
}

}  // namespace

int main(int count, char** words) {
  const std::string role = count > 1 ? words[1] : "";
  if (!(role == "calling" && count == 6) && !(role == "called" && count == 4)) return 2;
  check(exs_init(EXS_VERSION), "exs_init");
  const exs_qhandle_t queue = check(exs_qcreate(64), "exs_qcreate");
  std::mt19937_64 dice(std::strtoull(words[count - 1], nullptr, 10));
  const std::size_t rounds = std::strtoull(words[count - 2], nullptr, 10);
  if (role == "calling")
    play_calling(std::atoi(words[2]), std::atoi(words[3]), rounds, dice, queue);
  else
    play_called(rounds, dice, queue);
  return 0;
}
