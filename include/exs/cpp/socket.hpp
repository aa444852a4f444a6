// A socket whose operations complete with events on a queue.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_SOCKET_HPP
#define EXS_CPP_SOCKET_HPP

#include <exs/cpp/objects.hpp>

#include <type_traits>
#include <vector>

namespace exs::cpp {

// The destructor closes the socket and blocks as exs_close does.
class Socket {
 public:
  // Where the event of an operation goes.
  struct Target {
    exs_qhandle_t queue;
    void* handle = nullptr;
  };

  Socket() noexcept = default;
  // Takes ownership of an exs socket, or of a kernel socket to adopt.
  explicit Socket(int number) noexcept : number_(number) {}
  static Socket create(int type = SOCK_SEQPACKET, int family = AF_INET) {
    return Socket(checked(exs_socket(family, type, 0), "exs_socket"));
  }
  ~Socket() {
    if (is_open()) exs_close(number_);
  }
  Socket(Socket&& other) noexcept : number_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] bool is_open() const noexcept { return number_ != -1; }
  // Gives up ownership: the caller closes the socket.
  [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

  // --- Set-up ---
  void bind(const Address& address) {
    checked(exs_bind(number_, address.get(), address.length()), "exs_bind");
  }
  void listen(int backlog = SOMAXCONN) { checked(exs_listen(number_, backlog), "exs_listen"); }
  // Plain values; text is set by set_text_option().
  template <typename T>
  requires(std::is_trivially_copyable_v<T> &&
           !std::is_convertible_v<const T&, std::string_view>) void set_option(int option, const T& value,
                                                                               int level = SOL_EXS) {
    checked(exs_setsockopt(number_, level, option, &value, sizeof value), "exs_setsockopt");
  }
  template <typename T = int>
  [[nodiscard]] T option(int option, int level = SOL_EXS) const {
    T value{};
    socklen_t length = sizeof value;
    checked(exs_getsockopt(number_, level, option, &value, &length), "exs_getsockopt");
    return value;
  }
  // As EXS_SO_PROVIDER.
  void set_text_option(int option, std::string_view text, int level = SOL_EXS) {
    checked(exs_setsockopt(number_, level, option, text.data(), static_cast<socklen_t>(text.size())),
            "exs_setsockopt");
  }
  // Of a connection: the provider that carries it. Of another socket: EXS_SO_PROVIDER as it was set.
  [[nodiscard]] std::string provider() const {
    char text[64];
    socklen_t length = sizeof text;
    checked(exs_getsockopt(number_, SOL_EXS, EXS_SO_PROVIDER, text, &length), "exs_getsockopt");
    return text;
  }
  // What EXS_SO_REASON tells.
  [[nodiscard]] std::vector<exs_reason_t> reasons() const {
    std::vector<exs_reason_t> reasons(EXS_REASONS_MAX);
    auto length = static_cast<socklen_t>(reasons.size() * sizeof(exs_reason_t));
    checked(exs_getsockopt(number_, SOL_EXS, EXS_SO_REASON, reasons.data(), &length), "exs_getsockopt");
    reasons.resize(length / sizeof(exs_reason_t));
    return reasons;
  }
  // What EXS_SO_ERROR_TEXT tells; "" while nothing has failed.
  [[nodiscard]] std::string error_text() const {
    char text[512];
    socklen_t length = sizeof text;
    checked(exs_getsockopt(number_, SOL_EXS, EXS_SO_ERROR_TEXT, text, &length), "exs_getsockopt");
    return text;
  }
  [[nodiscard]] exs_stats_t stats() const {
    exs_stats_t stats{};
    stats.struct_bytes = sizeof stats;
    checked(exs_getstats(number_, &stats), "exs_getstats");
    return stats;
  }
  // EXS_F_SET_*: `value` has exactly the type of the command.
  template <typename T>
  void set_limit(int command, T value) {
    checked(exs_fcntl(number_, command, value), "exs_fcntl");
  }
  template <typename T = int>
  [[nodiscard]] T limit(int command) const {
    T value{};
    checked(exs_fcntl(number_, command, &value), "exs_fcntl");
    return value;
  }
  [[nodiscard]] Address local_address() const { return address_from(exs_getsockname, "exs_getsockname"); }
  [[nodiscard]] Address peer_address() const { return address_from(exs_getpeername, "exs_getpeername"); }

  // --- Operations; without an error exactly one event follows ---
  Outcome connect(const Address& address, Target target) noexcept {
    return outcome_of(exs_connect(number_, address.get(), address.length(), 0, target.queue, target.handle));
  }
  Outcome accept(Target target) const noexcept {
    return outcome_of(exs_accept(number_, nullptr, 0, target.queue, target.handle));
  }
  // An event for each connection, and a last one without EXS_EVF_MORE.
  Outcome accept_all(Target target) const noexcept {
    return outcome_of(exs_accept(number_, nullptr, EXS_MULTISHOT, target.queue, target.handle));
  }
  // An event for each message, with a buffer of the pool, and a last one without EXS_EVF_MORE.
  Outcome recv_pooled(exs_phandle_t pool, Target target) const noexcept {
    return outcome_of(exs_recv_pooled(number_, pool, 0, target.queue, target.handle));
  }
  Outcome send(std::span<const std::byte> bytes, Target target,
               exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED, int flags = 0) const noexcept {
    return outcome_of(
        exs_send(number_, bytes.data(), bytes.size(), flags, target.queue, target.handle, region));
  }
  Outcome recv(std::span<std::byte> into, Target target, exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED,
               int flags = 0) const noexcept {
    return outcome_of(
        exs_recv(number_, into.data(), into.size(), flags, target.queue, target.handle, region));
  }
  // At an offset of the peer's persistent memory.
  Outcome send_at(std::uint64_t offset, std::span<const std::byte> bytes, Target target,
                  exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED, int flags = 0) const noexcept {
    return outcome_of(exs_send_offset(number_, bytes.data(), bytes.size(), flags, target.queue, target.handle,
                                      region, offset));
  }
  Outcome recv_at(std::uint64_t offset, std::span<std::byte> into, Target target,
                  exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED, int flags = 0) const noexcept {
    return outcome_of(exs_recv_offset(number_, into.data(), into.size(), flags, target.queue, target.handle,
                                      region, offset));
  }
  Outcome flush() const noexcept { return outcome_of(exs_flush(number_)); }
  Outcome shutdown(int how) const noexcept { return outcome_of(exs_shutdown(number_, how)); }
  // Cancels all operations, or those with this handle. Returns how many match, 0 also on an error.
  int cancel() const noexcept { return matched(exs_cancel(number_, nullptr, EXS_CAF_FILDES)); }
  int cancel(void* handle) const noexcept {
    return matched(exs_cancel(number_, handle, EXS_CAF_FILDES | EXS_CAF_AHANDLE));
  }
  // Blocks for at most the linger time. The socket is closed even if an error is returned.
  Outcome close() noexcept { return outcome_of(exs_close(release())); }

 private:
  using NameCall = int (*)(int, sockaddr*, socklen_t*);
  [[nodiscard]] Address address_from(NameCall call, const char* name) const {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    auto* const address = reinterpret_cast<sockaddr*>(&storage);
    checked(call(number_, address, &length), name);
    return {address, length};
  }
  static int matched(int result) noexcept { return result < 0 ? 0 : result; }

  int number_ = -1;
};

}  // namespace exs::cpp

#endif  // EXS_CPP_SOCKET_HPP
