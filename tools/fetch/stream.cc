// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fetch/stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/common/sockets.h"

namespace fetch {
namespace {

using exs::cpp::Queue;
using exs::cpp::Socket;

[[noreturn]] void fail_broken(const std::string& what, int error) {
  throw Broken(what + ": " + std::strerror(error));
}

class ExsStream final : public Stream {
 public:
  ExsStream(const exs::cpp::Address& address, const Way& way)
      : limit_(way.limit), socket_(Socket::create(SOCK_STREAM, address.family())) {
    tools::set_provider(socket_, way.provider);
    socket_.set_limit(EXS_F_SET_SMALL_MAX, std::size_t{EXS_SMALL_MAX});  // the server limits it
    check(socket_.connect(address, {queue_.handle()}), "cannot connect");
    const exs_event_t event = next("cannot connect");
    if (event.exs_evt_errno != 0)
      throw Broken("cannot connect to " + address.text() +
                   tools::words_of_refusal(socket_, event.exs_evt_errno));
  }
  ~ExsStream() override {
    // Pending operations are of no use any more. Their events have to be taken before the queue is destroyed.
    const int at_once = 0;
    exs_setsockopt(socket_.number(), SOL_EXS, EXS_SO_LINGER_MS, &at_once, sizeof at_once);
    if (!socket_.close()) return;
    exs_event_t event;
    while (exs_qwait(queue_.handle(), &event, 1, 1, 0) == 1) continue;
  }

  void send(std::string_view text) override {
    check(socket_.send(std::as_bytes(std::span(text)), {queue_.handle()}), "cannot send");
    const exs_event_t event = next("sending");
    if (event.exs_evt_errno != 0) fail_broken("sending", event.exs_evt_errno);
  }

  std::size_t receive(std::span<char> into, exs_mhandle_t region, bool all) override {
    check(socket_.recv(std::as_writable_bytes(into), {queue_.handle()}, region, all ? MSG_WAITALL : 0),
          "cannot receive");
    const exs_event_t event = next("receiving");
    if (event.exs_evt_errno != 0) fail_broken("receiving", event.exs_evt_errno);
    return exs_event_bytes(&event);
  }

  [[nodiscard]] std::string provider() const override { return socket_.provider(); }

 private:
  static void check(const exs::cpp::Outcome& outcome, const std::string& what) {
    if (!outcome) fail_broken(what, outcome.error.value());
  }

  exs_event_t next(const std::string& what) {
    exs_event_t event;
    for (;;) {
      const Queue::Taken taken = queue_.wait(std::span(&event, 1), 1, limit_);
      if (taken.error == std::errc::interrupted) continue;
      check(taken, what);
      if (taken.events.empty()) fail_broken(what, ETIMEDOUT);
      return event;
    }
  }

  const std::chrono::nanoseconds limit_;
  Queue queue_{4};
  Socket socket_;
};

class TcpStream final : public Stream {
 public:
  TcpStream(const exs::cpp::Address& address, const Way& way)
      : socket_(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (socket_ == -1) tools::fail("socket", errno);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(way.limit);
    const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(way.limit - seconds);
    const timeval limit{seconds.count(), rest.count()};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // limits connect(), too
    if (::connect(socket_, address.get(), address.length()) == 0) return;
    const int error = errno;
    ::close(socket_);
    fail_broken("cannot connect to " + address.text(), error);
  }
  ~TcpStream() override { ::close(socket_); }

  void send(std::string_view text) override {
    while (!text.empty()) {
      const ssize_t count = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (count == -1 && errno == EINTR) continue;
      if (count == -1) fail_broken("sending", errno);
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  std::size_t receive(std::span<char> into, exs_mhandle_t, bool all) override {
    std::size_t done = 0;
    for (;;) {
      const ssize_t count = ::recv(socket_, into.data() + done, into.size() - done, all ? MSG_WAITALL : 0);
      if (count == -1 && errno == EINTR) continue;
      if (count == -1) fail_broken("receiving", errno == EAGAIN ? ETIMEDOUT : errno);
      done += static_cast<std::size_t>(count);
      if (count == 0 || !all || done == into.size()) return done;
    }
  }

  [[nodiscard]] std::string provider() const override { return "tcp"; }

 private:
  int socket_;
};

}  // namespace

std::unique_ptr<Stream> connect(const std::string& host, std::uint16_t port, const Way& way) {
  const exs::cpp::Address address = tools::resolve(host, port);
  if (way.is_tcp) return std::make_unique<TcpStream>(address, way);
  return std::make_unique<ExsStream>(address, way);
}

}  // namespace fetch
