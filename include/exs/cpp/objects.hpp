// The library, registered memory, addresses, event queues and events.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_OBJECTS_HPP
#define EXS_CPP_OBJECTS_HPP

#include <exs/cpp/error.hpp>

#include <netdb.h>
#include <netinet/in.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace exs::cpp {

// Counted, as exs_init is: any number may exist at a time.
class Library {
 public:
  Library() { checked(exs_init(EXS_VERSION), "exs_init"); }
  ~Library() { exs_fini(); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] static exs_limits_t limits() {
    exs_limits_t limits{};
    limits.struct_bytes = sizeof limits;
    checked(exs_getlimits(&limits), "exs_getlimits");
    return limits;
  }
  // Of the process.
  [[nodiscard]] static exs_stats_t stats() {
    exs_stats_t stats{};
    stats.struct_bytes = sizeof stats;
    checked(exs_getstats(-1, &stats), "exs_getstats");
    return stats;
  }
};

inline std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view text_of(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The registration of memory that the caller owns. It must outlive the operations that use it.
class Region {
 public:
  explicit Region(std::span<std::byte> memory, int flags = 0)
      : handle_(exs_mregister(memory.data(), memory.size(), flags)) {
    if (handle_ == EXS_MHANDLE_INVALID) throw std::system_error(error_of(errno), "exs_mregister");
  }
  ~Region() {
    if (handle_ != EXS_MHANDLE_INVALID) exs_mderegister(handle_, 0);
  }
  Region(Region&& other) noexcept : handle_(std::exchange(other.handle_, EXS_MHANDLE_INVALID)) {}
  Region& operator=(Region&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  // Allows a Region wherever a call takes a handle.
  operator exs_mhandle_t() const noexcept { return handle_; }

 private:
  exs_mhandle_t handle_;
};

// Memory from exs_alloc, registered with all rights.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : address_(exs_alloc(bytes, &region_)), size_(bytes) {
    if (address_ == nullptr) throw std::system_error(error_of(errno), "exs_alloc");
  }
  ~Buffer() { exs_free(address_); }
  Buffer(Buffer&& other) noexcept
      : region_(other.region_),
        address_(std::exchange(other.address_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(region_, other.region_);
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    return *this;
  }

  [[nodiscard]] std::span<std::byte> bytes() const noexcept {
    return {static_cast<std::byte*>(address_), size_};
  }
  [[nodiscard]] exs_mhandle_t region() const noexcept { return region_; }

 private:
  exs_mhandle_t region_ = EXS_MHANDLE_INVALID;
  void* address_;
  std::size_t size_;
};

// Host and port of an IPv4 or IPv6 socket.
class Address {
 public:
  Address() noexcept = default;
  // `host`: a number or a name.
  Address(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (failed != 0) {
      const auto error = failed == EAI_SYSTEM ? error_of(errno) : error_of(EADDRNOTAVAIL);
      throw std::system_error(error, host + ": " + ::gai_strerror(failed));
    }
    std::memcpy(&storage_, found->ai_addr, found->ai_addrlen);
    length_ = found->ai_addrlen;
    ::freeaddrinfo(found);
  }
  Address(const sockaddr* address, socklen_t length) noexcept
      : length_(length < sizeof storage_ ? length : socklen_t{sizeof storage_}) {
    std::memcpy(&storage_, address, length_);
  }
  // 127.0.0.1; port 0: any free one.
  static Address loopback(std::uint16_t port = 0) noexcept {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return {reinterpret_cast<const sockaddr*>(&address), sizeof address};
  }

  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
  [[nodiscard]] socklen_t length() const noexcept { return length_; }
  [[nodiscard]] int family() const noexcept { return storage_.ss_family; }
  [[nodiscard]] std::uint16_t port() const noexcept {
    sockaddr_in6 address{};  // the port lies at the same place in a sockaddr_in
    static_assert(offsetof(sockaddr_in6, sin6_port) == offsetof(sockaddr_in, sin_port));
    std::memcpy(&address, &storage_, sizeof address);
    return ntohs(address.sin6_port);
  }
  // The same host with another port.
  [[nodiscard]] Address with_port(std::uint16_t port) const noexcept {
    Address changed = *this;
    const in_port_t in_network_order = htons(port);
    std::memcpy(reinterpret_cast<char*>(&changed.storage_) + offsetof(sockaddr_in, sin_port),
                &in_network_order, sizeof in_network_order);
    return changed;
  }
  // "127.0.0.1:7471", "[::1]:7471"; "unknown address" of other families.
  [[nodiscard]] std::string text() const {
    char host[NI_MAXHOST];
    if ((family() != AF_INET && family() != AF_INET6) ||
        ::getnameinfo(get(), length_, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) {
      return "unknown address";
    }
    const std::string number = std::to_string(port());
    return family() == AF_INET6 ? "[" + std::string(host) + "]:" + number : std::string(host) + ":" + number;
  }

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

// A view of one event.
class Event {
 public:
  explicit Event(const exs_event_t& event) noexcept : event_(&event) {}

  [[nodiscard]] int type() const noexcept { return event_->exs_evt_type; }
  [[nodiscard]] const char* name() const noexcept { return exs_evtname(type()); }
  [[nodiscard]] std::error_code error() const noexcept { return error_of(event_->exs_evt_errno); }
  [[nodiscard]] int socket() const noexcept { return event_->exs_evt_socket; }
  [[nodiscard]] std::uint32_t flags() const noexcept { return event_->exs_evt_flags; }
  // The handle that the post named, as a pointer to its type.
  template <typename T>
  [[nodiscard]] T* handle() const noexcept {
    return static_cast<T*>(event_->exs_evt_ahandle);
  }
  // What it carries, as exs_event_bytes(3) says; 0, null, -1 or EXS_MHANDLE_INVALID if it does not carry that.
  [[nodiscard]] std::size_t bytes() const noexcept { return exs_event_bytes(event_); }
  [[nodiscard]] std::byte* buffer() const noexcept {
    return static_cast<std::byte*>(exs_event_buffer(event_));
  }
  [[nodiscard]] exs_mhandle_t region() const noexcept { return exs_event_region(event_); }
  [[nodiscard]] std::uint64_t offset() const noexcept { return exs_event_offset(event_); }
  [[nodiscard]] std::uint32_t count() const noexcept { return exs_event_count(event_); }
  [[nodiscard]] int new_socket() const noexcept { return exs_event_new_socket(event_); }
  [[nodiscard]] std::uint32_t revents() const noexcept { return exs_event_revents(event_); }
  [[nodiscard]] std::uint64_t next_length() const noexcept { return exs_event_next_length(event_); }
  [[nodiscard]] std::uint64_t user(unsigned word) const noexcept { return exs_event_user(event_, word); }
  [[nodiscard]] Result result() const noexcept { return {{error()}, bytes(), flags()}; }

 private:
  const exs_event_t* event_;
};

// It must outlive the operations that name it, and their events must have been dequeued.
class Queue {
 public:
  using Timeout = std::optional<std::chrono::nanoseconds>;  // none: no limit
  struct [[nodiscard]] Taken : Outcome {
    std::span<exs_event_t> events;

    [[nodiscard]] std::span<exs_event_t> value() const {
      Outcome::value();
      return events;
    }
  };

  explicit Queue(int depth) : handle_(exs_qcreate(depth)) {
    if (handle_ == EXS_QHANDLE_INVALID) throw std::system_error(error_of(errno), "exs_qcreate");
  }
  ~Queue() {
    if (handle_ != EXS_QHANDLE_INVALID) exs_qdelete(handle_);
  }
  Queue(Queue&& other) noexcept : handle_(std::exchange(other.handle_, EXS_QHANDLE_INVALID)) {}
  Queue& operator=(Queue&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  [[nodiscard]] exs_qhandle_t handle() const noexcept { return handle_; }
  // Waits for at least `min` events, or the timeout; dequeues at most as many as there is room for.
  Taken wait(std::span<exs_event_t> room, int min = 1, Timeout timeout = std::nullopt) const noexcept {
    const int max = room.size() < EXS_EVTVEC_MAX ? static_cast<int>(room.size()) : EXS_EVTVEC_MAX;
    const int taken = exs_qwait(handle_, room.data(), max, min, timeout ? timeout->count() : -1);
    if (taken == -1) return {{error_of(errno)}, {}};
    return {{}, room.first(static_cast<std::size_t>(taken))};
  }
  // Posts an EXS_EVT_USER event.
  Outcome post(void* handle, const std::uint64_t* user = nullptr) const noexcept {
    return outcome_of(exs_qpost(handle_, handle, user));
  }
  template <typename T>
  void set(int attribute, const T& value) const {
    checked(exs_qmodify(handle_, attribute, &value, sizeof value), "exs_qmodify");
  }
  template <typename T = int>
  [[nodiscard]] T get(int attribute) const {
    T value{};
    std::size_t length = sizeof value;
    checked(exs_qstatus(handle_, attribute, &value, &length), "exs_qstatus");
    return value;
  }

 private:
  exs_qhandle_t handle_;
};

}  // namespace exs::cpp

#endif  // EXS_CPP_OBJECTS_HPP
