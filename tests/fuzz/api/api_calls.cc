// The C interface with any calls: both ends of a connection over shm or iwarp, in one process. Each operation has one event, and in the
// end nothing is in use.
// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <memory>
#include <vector>

#include "tests/fuzz/api/api_world.h"

namespace exs::fuzz::api_calls {

using namespace exs::fuzz::api;

// Vectors stay valid until their event.
struct Vector {
  exs_msghdr_t header{};
  std::vector<exs_iovec_t> pieces;
};

class World {
 public:
  explicit World(Input& input) : input_(input), is_stream_(input.one_in(3)) { join(); }
  ~World() {
    for (const int socket : sockets_) exs_close(socket);
    drain();
    if (pool_ != EXS_PHANDLE_INVALID) hold(exs_pool_delete(pool_) == 0, "no receive uses the pool");
    account_.check();
    hold(exs_qdelete(queue_) == 0, "nothing names the queue");
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void step() {
    if (account_.is_full()) return drain();
    switch (input_.below(20)) {
      case 0:
      case 1:
      case 2: return send();
      case 3:
      case 4:
      case 5: return receive();
      case 6: return send_pieces();
      case 7: return receive_pieces();
      case 8: return at_offset();
      case 9: return poll();
      case 10: return cancel();
      case 11: return ask();
      case 12: return change();
      case 13: return end();
      case 14: return pool();
      case 15: return wait_a_little();
      case 16: return post();
      case 17: return map();
      default: return drain();
    }
  }

 private:
  void join() {
    const Listener& listener = listener_of(is_stream_);
    queue_ = exs_qcreate(static_cast<int>(8 + input_.below(120)));
    const int client = exs_socket(AF_INET, is_stream_ ? SOCK_STREAM : SOCK_SEQPACKET, 0);
    hold(queue_ != EXS_QHANDLE_INVALID && client >= 0, "a queue and a socket");
    const char* const provider = input_.one_in(2) ? "require:shm" : "require:iwarp";
    hold(exs_setsockopt(client, SOL_EXS, EXS_SO_PROVIDER, provider,
                        static_cast<socklen_t>(std::strlen(provider))) == 0,
         "a provider");
    const int linger_ms = 0;
    exs_setsockopt(client, SOL_EXS, EXS_SO_LINGER_MS, &linger_ms, sizeof linger_ms);
    if (input_.one_in(2)) exs_fcntl(client, EXS_F_SET_SEND_CREDITS, static_cast<int>(1 + input_.below(8)));
    if (input_.one_in(2)) exs_fcntl(client, EXS_F_SET_SMALL_MAX, static_cast<std::size_t>(input_.below(400)));
    hold(exs_accept(listener.socket, nullptr, 0, queue_, nullptr) == 0, "an accept");
    hold(exs_connect(client, reinterpret_cast<const sockaddr*>(&listener.address), sizeof listener.address, 0,
                     queue_, nullptr) == 0,
         "a connect");
    sockets_[0] = client;
    for (int events = 0; events < 2; ++events) {
      exs_event_t event{};
      hold(exs_qwait(queue_, &event, 1, 1, kWaitNs) == 1 && event.exs_evt_errno == 0, "a connection");
      if (event.exs_evt_type == EXS_EVT_ACCEPT)
        sockets_[1] = event.exs_evt_union.exs_evt_accept.exs_evt_newsocket;
    }
    exs_setsockopt(sockets_[1], SOL_EXS, EXS_SO_LINGER_MS, &linger_ms, sizeof linger_ms);
  }

  // Mostly one of ours.
  int any_socket() {
    if (input_.one_in(64)) return input_.one_in(2) ? -1 : 1'000'000 + static_cast<int>(input_.below(1000));
    return sockets_[input_.below(2)];
  }
  int any_flags(std::uint32_t usual) {
    static constexpr std::array<int, 8> kFlags{EXS_PERSISTENT,   EXS_NOTIFY,  EXS_MAPPABLE, EXS_NO_EVENT,
                                               EXS_NO_IMMEDIATE, MSG_WAITALL, EXS_SHUT_WR,  MSG_MORE};
    int flags = 0;
    const auto bits = input_.number<std::uint8_t>() & (input_.one_in(8) ? 0xff : usual);
    for (std::size_t i = 0; i < kFlags.size(); ++i)
      if ((bits >> i & 1) != 0) flags |= kFlags[i];
    if (input_.one_in(64)) flags |= static_cast<int>(input_.number<std::uint32_t>());
    return flags;
  }
  void count(int result, int flags) {
    hold(result == 0 || (result == -1 && errno != 0), "0, or -1 with an errno");
    if (result == 0) account_.add((flags & EXS_NO_EVENT) == 0 ? 1 : 0);
  }

  void send() {
    const Piece piece = memory_.any(input_);
    const int flags = any_flags(0x9b);
    count(exs_send(any_socket(), piece.start, piece.bytes, flags, queue_, account_.next(), piece.region),
          flags);
  }
  void receive() {
    const Piece piece = memory_.any(input_);
    const int flags = any_flags(0x2f);
    count(exs_recv(any_socket(), piece.start, piece.bytes, flags, queue_, account_.next(), piece.region),
          flags);
  }
  void at_offset() {
    const Piece piece = memory_.any(input_);
    const std::uint64_t offset =
        input_.one_in(8) ? input_.number<std::uint64_t>() : input_.below(kRegionBytes);
    const int flags = any_flags(0x08);
    const bool is_send = input_.one_in(2);
    const int result = is_send ? exs_send_offset(any_socket(), piece.start, piece.bytes, flags, queue_,
                                                 account_.next(), piece.region, offset)
                               : exs_recv_offset(any_socket(), piece.start, piece.bytes, flags, queue_,
                                                 account_.next(), piece.region, offset);
    count(result, flags);
  }
  Vector& any_vector() {
    Vector& vector = vectors_.emplace_back();
    for (std::size_t pieces = input_.below(6); pieces > 0; --pieces) {
      const Piece piece = memory_.any(input_);
      vector.pieces.push_back({piece.start, piece.bytes, piece.region, input_.one_in(64) ? 1U : 0U});
    }
    vector.header.msg_iov = vector.pieces.data();
    vector.header.msg_iovlen = static_cast<int>(vector.pieces.size());
    return vector;
  }
  void send_pieces() {
    const int flags = any_flags(0x98);
    count(exs_sendmsg(any_socket(), &any_vector().header, flags, queue_, account_.next()), flags);
  }
  void receive_pieces() {
    const int flags = any_flags(0x28);
    count(exs_recvmsg(any_socket(), &any_vector().header, flags, queue_, account_.next()), flags);
  }
  void poll() {
    const exs_pollfd_t entry{
        any_socket(),
        input_.one_in(16) ? input_.number<std::uint32_t>() : static_cast<std::uint32_t>(input_.below(8)),
        account_.next()};
    if (exs_poll(&entry, 1, 0, queue_) == 1) account_.add();
  }
  void map() {
    if (exs_window_map(any_socket(), queue_, account_.next()) == 0) account_.add();
  }
  void post() {
    const std::array<std::uint64_t, 5> words{1, 2, 3, 4, 5};
    if (exs_qpost(queue_, account_.next(), words.data()) == 0) account_.add();
  }
  void cancel() {
    static_cast<void>(exs_cancel(any_socket(), account_.next(),
                                 static_cast<int>(input_.one_in(2) ? EXS_CAF_FILDES : input_.below(4))));
  }
  void ask() {
    std::array<std::byte, 512> room;
    auto length = static_cast<socklen_t>(input_.below(room.size() + 1));
    const int option = 0x4500 + static_cast<int>(input_.below(0x50));
    static_cast<void>(exs_getsockopt(any_socket(), SOL_EXS, option, room.data(), &length));
    exs_stats_t stats{};
    stats.struct_bytes =
        static_cast<std::uint32_t>(input_.one_in(4) ? input_.below(sizeof stats + 1) : sizeof stats);
    static_cast<void>(exs_getstats(any_socket(), &stats));
    std::size_t bytes = room.size();
    static_cast<void>(exs_qstatus(queue_, static_cast<int>(input_.below(70)), room.data(), &bytes));
  }
  void change() {
    const int socket = any_socket();
    switch (input_.below(6)) {
      case 0: static_cast<void>(exs_flush(socket)); break;
      case 1: {
        const int value = static_cast<int>(input_.below(2));
        static_cast<void>(exs_setsockopt(socket, SOL_EXS, EXS_SO_LABEL, &value, sizeof value));
        static_cast<void>(exs_setsockopt(socket, SOL_EXS, EXS_SO_NODELAY, &value, sizeof value));
        break;
      }
      case 2:
        static_cast<void>(exs_fcntl(socket, EXS_F_SET_MAX_OPS, static_cast<int>(input_.near(16))));
        break;
      case 3: {
        const int depth = static_cast<int>(input_.near(32));
        static_cast<void>(exs_qmodify(queue_, EXS_QATTR_DEPTH, &depth, sizeof depth));
        break;
      }
      case 4: {
        const exs_timeout_t limit{static_cast<std::int64_t>(1'000 + input_.below(1'000'000)),
                                  static_cast<std::uint32_t>(input_.below(4)), queue_, nullptr};
        const int option = input_.one_in(2) ? SO_ASYNC_SEND_TIMEOUT : SO_ASYNC_RECV_TIMEOUT;
        static_cast<void>(exs_setsockopt(socket, SOL_EXS, option, &limit, sizeof limit));
        break;
      }
      default: {
        const auto value = input_.number<std::uint32_t>();
        static_cast<void>(exs_setsockopt(socket, SOL_EXS, 0x4501 + static_cast<int>(input_.below(2)), &value,
                                         static_cast<socklen_t>(input_.below(5))));
        break;
      }
    }
  }
  void end() {
    if (!input_.one_in(3)) return;
    const int how = static_cast<int>(input_.below(4));
    if (input_.one_in(2)) {
      static_cast<void>(exs_shutdown(sockets_[input_.below(2)], how));
    } else if (exs_shutdown_async(sockets_[input_.below(2)], how, queue_, account_.next()) == 0) {
      account_.add();
    }
  }
  void pool() {
    if (pool_ == EXS_PHANDLE_INVALID) {
      pool_ = exs_pool_create(pooled_.data(), 256, 4, EXS_MHANDLE_UNREGISTERED);
      return;
    }
    if (exs_recv_pooled(any_socket(), pool_, 0, queue_, account_.next()) == 0) account_.add();
  }
  void take(const exs_event_t& event) {
    const exs_evt_xfer_t& transfer = event.exs_evt_union.exs_evt_xfer;
    account_.take(event);
    if (event.exs_evt_type != EXS_EVT_RECV || (event.exs_evt_flags & EXS_EVF_MORE) == 0) return;
    hold(transfer.exs_evt_buf >= pooled_.data() && transfer.exs_evt_buf < pooled_.data() + pooled_.size(),
         "a buffer of the pool");
    hold(exs_pool_return(pool_, transfer.exs_evt_buf) == 0, "a buffer goes back");
  }
  void drain() {
    std::array<exs_event_t, 32> events;
    for (int rounds = 0; rounds < 100; ++rounds) {
      const int count = exs_qwait(queue_, events.data(), static_cast<int>(events.size()), 0, 0);
      for (int i = 0; i < count; ++i) take(events[static_cast<std::size_t>(i)]);
      if (count <= 0) return;
    }
  }
  void wait_a_little() {
    exs_event_t event{};
    if (exs_qwait(queue_, &event, 1, 1, 200'000) == 1) take(event);
  }

  Input& input_;
  const bool is_stream_;
  exs_qhandle_t queue_ = EXS_QHANDLE_INVALID;
  exs_phandle_t pool_ = EXS_PHANDLE_INVALID;
  std::array<int, 2> sockets_{-1, -1};
  std::array<std::byte, 1024> pooled_{};
  std::deque<Vector> vectors_;
  Memory memory_;
  Account account_;
};

}  // namespace exs::fuzz::api_calls

EXS_FUZZ_TARGET(api_calls) {
  static_cast<void>(exs::fuzz::api::listener_of(false));  // the library lives longer than each world
  exs::fuzz::api_calls::World world(input);
  for (int steps = 0; steps < 200 && !input.has_ended(); ++steps) world.step();
}
