// The kernel descriptor behind an exs descriptor, and so its number. Shared by the socket, its session and
// every event that names the number: the kernel may hand the number out again only when all are gone.
//
// An adopted descriptor is the application's, which may close it and get its number for another socket at any
// time: call is_there() before every use. A close between is_there() and the use cannot be excluded. The number
// of one of the library's own may be closed by mistake: whatever means to end it asks, too.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/socket_cookie.h"
#include "base/unique_fd.h"

namespace exs {

// Thread: any.
class KernelDescriptor {
 public:
  explicit KernelDescriptor(UniqueFd descriptor) noexcept
      : number_(descriptor.get()), cookie_(socket_cookie(number_)), descriptor_(std::move(descriptor)) {}
  ~KernelDescriptor();
  KernelDescriptor(const KernelDescriptor&) = delete;
  KernelDescriptor& operator=(const KernelDescriptor&) = delete;
  // Adopts the application's socket.
  KernelDescriptor(int number, std::uint64_t cookie) noexcept
      : number_(number), cookie_(cookie), adopted_(true) {}

  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] bool adopted() const noexcept { return adopted_; }

  // Adopted: the identity of the socket.
  [[nodiscard]] std::uint64_t cookie() const noexcept { return cookie_.value_or(0); }
  // The number still means the socket it meant. A system call.
  [[nodiscard]] bool is_there() const noexcept { return means(cookie_); }
  // Ours: the number was closed by a plain close, so EXS_EVT_CLOSE says EBADF. Called once, before the close begins.
  void set_lost() noexcept { lost_.store(true, std::memory_order_release); }
  [[nodiscard]] bool is_lost() const noexcept { return lost_.load(std::memory_order_acquire); }
  // Adopted: the application has called exs_close, so the number is the library's from now on. Called once,
  // by the thread that removed the socket from the descriptor table.
  void take_over() noexcept {
    descriptor_ = UniqueFd(number_);
    ours_.store(true, std::memory_order_release);
  }
  // Adopted: if it was taken over, closes the socket at once. The number stays taken until the last reference
  // to this object is gone.
  void close_socket() const noexcept;
  // Ours: a listening socket listens no more, so another one may have its port although the number stays taken.
  void stop_listening() const noexcept;

 private:
  using Cookie = std::optional<std::uint64_t>;
  [[nodiscard]] bool means(const Cookie& cookie) const noexcept;

  const int number_;
  const Cookie cookie_;  // ours: empty if the kernel did not say, and then nothing is noticed
  const bool adopted_ = false;
  UniqueFd descriptor_;
  std::atomic<bool> lost_{false};
  std::atomic<bool> ours_{false};                      // adopted: taken over; written once, read by the shard
  mutable std::atomic<std::uint64_t> placeholder_{0};  // cookie of what has taken the socket's place
};

}  // namespace exs
