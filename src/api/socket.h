// The object of an exs descriptor: options until it connects or listens, then a session or an acceptor.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "event/session/acceptor.h"

namespace exs {

struct SocketOptions {
  explicit SocketOptions(proto::SocketKind kind) {
    wishes.kind = kind;
    if (kind == proto::SocketKind::kStream) wishes.small_bytes = kStreamSmallBytes;
  }

  proto::Wishes wishes{.kind = proto::SocketKind::kMessage,
                       .send_credits = 32,
                       .receive_credits = 32,
                       .small_bytes = 1024,
                       .read_depth = 1024,
                       .receive_credits_max = EXS_CREDITS_MAX};
  int operations_max = 256;
  int connect_timeout_ms = 0;  // 0: the default of the role
  int linger_ms = 5000;
  int nodelay = 0;       // streams: 1: small sends are not combined
  int keepalive_ms = 0;  // 0: off
  TimeLimitWish send_limit, receive_limit;
  int receives_ordered = 1;  // always on
  std::string provider = "auto";
  std::string label;

  // The most that combining puts into one message. Half of it is slower, twice as much is not faster.
  static constexpr std::uint32_t kStreamSmallBytes = 4096;
  static constexpr int kConnectDefaultMs = 10'000;  // longer than the limits of iWARP peers (RFC 5044)
  static constexpr int kListenDefaultMs = 5'000;
  [[nodiscard]] SessionOptions session(int default_timeout_ms) const;
};

// Whether the library adopted the socket, and its state at that time.
enum class Adopted : std::uint8_t { kNo, kConnected, kListening, kUnconnected };

// Thread: any.
class Socket {
 public:
  Socket(std::shared_ptr<KernelDescriptor> descriptor, int domain, SocketOptions options)
      : descriptor_(std::move(descriptor)), domain_(domain), options_(std::move(options)) {}
  // An accepted connection.
  Socket(std::shared_ptr<Session> session, int domain, SocketOptions options)
      : Socket(session->descriptor(), domain, std::move(options)) {
    if (descriptor_->adopted()) adopted_ = Adopted::kConnected;
    ours_ = true;
    set_session(std::move(session));
  }
  // A kernel socket.
  Socket(std::shared_ptr<KernelDescriptor> descriptor, int domain, SocketOptions options, Adopted adopted)
      : Socket(std::move(descriptor), domain, std::move(options)) {
    adopted_ = adopted;
    ours_ = false;
    if (adopted == Adopted::kListening) backlog_ = SOMAXCONN;
  }

  [[nodiscard]] const std::shared_ptr<KernelDescriptor>& descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] int number() const noexcept { return descriptor_->number(); }
  [[nodiscard]] int domain() const noexcept { return domain_; }

  [[nodiscard]] Adopted adopted() const noexcept { return adopted_; }
  // Created by exs_socket or exs_accept, so closed by the last exs_fini.
  [[nodiscard]] bool ours() const noexcept { return ours_; }

  // Null until exs_connect (adopted: until the first operation); then the same for the life of the socket.
  [[nodiscard]] Session* session() const noexcept { return session_.load(std::memory_order_acquire); }
  [[nodiscard]] std::shared_ptr<Session> shared_session() const {
    Session* session = this->session();
    return session == nullptr ? nullptr : session->shared_from_this();
  }

  // The time limits of a socket without a session. They hold their slots already.
  struct Limits {
    std::shared_ptr<TimeLimit> send, receive;
  };

  // Serialises exs_connect, exs_listen, exs_accept, exs_fcntl and exs_close.
  Mutex mutex;
  SocketOptions& options() EXS_REQUIRES(mutex) { return options_; }
  std::shared_ptr<Acceptor>& acceptor() EXS_REQUIRES(mutex) { return acceptor_; }
  // Of a listening socket, until its acceptor takes them.
  ListeningPoints& listening_points() EXS_REQUIRES(mutex) { return points_; }
  Limits& limits() EXS_REQUIRES(mutex) { return limits_; }
  int& backlog() EXS_REQUIRES(mutex) { return backlog_; }  // 0: not listening
  void connect_with(std::shared_ptr<Session> session) EXS_REQUIRES(mutex) { set_session(std::move(session)); }

 private:
  void set_session(std::shared_ptr<Session> session) {
    owned_session_ = std::move(session);
    session_.store(owned_session_.get(), std::memory_order_release);
  }

  const std::shared_ptr<KernelDescriptor> descriptor_;
  const int domain_;
  Adopted adopted_ = Adopted::kNo;  // both: constant after construction
  bool ours_ = true;
  std::atomic<Session*> session_{nullptr};  // written once, after owned_session_
  std::shared_ptr<Session> owned_session_;
  SocketOptions options_ EXS_GUARDED_BY(mutex);
  std::shared_ptr<Acceptor> acceptor_ EXS_GUARDED_BY(mutex);
  ListeningPoints points_ EXS_GUARDED_BY(mutex);
  Limits limits_ EXS_GUARDED_BY(mutex);
  int backlog_ EXS_GUARDED_BY(mutex) = 0;
};

}  // namespace exs
