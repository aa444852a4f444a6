// How a batch of socket calls is carried out: one after another, or through an io_uring in one system call.
// Every call is non-blocking and finished when perform() returns, so any thread may drive next.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/status.h"
#include "src/provider/iwarp/settings.h"
#include "src/provider/provider.h"
#include "src/provider/reason.h"

namespace exs::iwarp {

// One recvmsg or sendmsg that must not wait.
struct IoJob {
  int descriptor = -1;
  bool is_send = false;
  msghdr message{};
  std::int64_t result = 0;  // bytes, or a negative errno
};

// Carries out one job by a plain call.
void run_job(IoJob& job) noexcept;
// Sends what the socket takes without waiting. Returns the bytes, or a negative errno.
ssize_t send_bytes(int descriptor, std::span<const std::byte> bytes) noexcept;

// Thread: shard, except where stated.
class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  // How many jobs of one direction gain from being given together.
  [[nodiscard]] virtual std::size_t batch_max() const noexcept = 0;
  virtual void perform(std::span<IoJob> jobs) noexcept = 0;
  // Null: any thread may use it.
  [[nodiscard]] virtual SingleIssuer* single_issuer() noexcept { return nullptr; }
  // The reason why it is not a faster one; kNone for the fastest.
  [[nodiscard]] virtual const Reason& limitation() const noexcept = 0;
};

// "io_uring_setup: Operation not permitted (kernel.io_uring_disabled=2)": `call` failed with `error`.
Reason no_io_uring(const char* call, int error);

// Fails when the chosen backend was forced and the kernel refuses it.
Result<std::unique_ptr<Backend>> make_backend(BackendChoice choice);

}  // namespace exs::iwarp
