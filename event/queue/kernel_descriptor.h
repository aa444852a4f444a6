// The kernel descriptor behind an exs descriptor, and so its number. Shared by the socket, its session and
// every event that names the number: the kernel may hand the number out again only when all are gone.
//
// An adopted one is the application's, who may close it, and get its number again for another socket, at any
// time: is_there() before every touch. What cannot be excluded: a close between is_there() and the touch.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "src/base/socket_cookie.h"
#include "src/base/unique_fd.h"

namespace exs {

// Thread: any.
class KernelDescriptor {
 public:
  explicit KernelDescriptor(UniqueFd descriptor) noexcept
      : number_(descriptor.get()), descriptor_(std::move(descriptor)) {}
  // Adopts.
  KernelDescriptor(int number, std::uint64_t cookie) noexcept : number_(number), cookie_(cookie) {}

  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] bool adopted() const noexcept { return cookie_.has_value(); }

  // Adopted: the socket itself.
  [[nodiscard]] std::uint64_t cookie() const noexcept { return cookie_.value_or(0); }
  // Adopted: the number still means the socket it meant. A system call.
  [[nodiscard]] bool is_there() const { return socket_cookie(number_) == cookie_; }
  // Adopted: the application has told us to close it; the number is ours from now on. Once, by whoever took
  // the socket out of the descriptor table.
  void take_over() noexcept {
    descriptor_ = UniqueFd(number_);
    ours_.store(true, std::memory_order_release);
  }
  // Adopted: if it was taken over, closes the socket at once, while the number stays taken until the last who
  // names it is gone.
  void close_socket() const noexcept;

 private:
  const int number_;
  const std::optional<std::uint64_t> cookie_;
  UniqueFd descriptor_;
  std::atomic<bool> ours_{false};  // adopted ones: written once, read by the shard
};

}  // namespace exs
