// Receive buffers that many sockets share.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_RECEIVE_POOL_HPP
#define EXS_CPP_RECEIVE_POOL_HPP

#include <exs/cpp/objects.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace exs::cpp {

// A pool of equal buffers in registered memory, which must outlive it. Socket::recv_pooled takes them; the pool must
// outlive those receives.
class ReceivePool {
 public:
  ReceivePool(std::span<std::byte> buffers, std::uint32_t count, exs_mhandle_t region)
      : handle_(exs_pool_create(buffers.data(), count == 0 ? 0 : buffers.size() / count, count, region)) {
    if (handle_ == EXS_PHANDLE_INVALID) throw std::system_error(error_of(errno), "exs_pool_create");
  }
  ~ReceivePool() {
    if (handle_ != EXS_PHANDLE_INVALID) exs_pool_delete(handle_);
  }
  ReceivePool(ReceivePool&& other) noexcept : handle_(std::exchange(other.handle_, EXS_PHANDLE_INVALID)) {}
  ReceivePool& operator=(ReceivePool&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  [[nodiscard]] exs_phandle_t handle() const noexcept { return handle_; }
  // What an event of Socket::recv_pooled, or of a send of the same memory, names.
  Outcome give_back(const exs_event_t& event) const noexcept {
    return outcome_of(exs_pool_return(handle_, exs_event_buffer(&event)));
  }

 private:
  exs_phandle_t handle_;
};

// A message in a buffer of a pool, which must outlive it. The destructor gives the buffer back.
class PooledMessage {
 public:
  PooledMessage(const Event& event, exs_phandle_t pool) noexcept
      : result_(event.result()), memory_(event.buffer()), region_(event.region()), pool_(pool) {}
  ~PooledMessage() {
    if (memory_ != nullptr) exs_pool_return(pool_, memory_);
  }
  PooledMessage(PooledMessage&& other) noexcept
      : result_(other.result_),
        memory_(std::exchange(other.memory_, nullptr)),
        region_(other.region_),
        pool_(other.pool_) {}
  PooledMessage& operator=(PooledMessage&& other) noexcept {
    std::swap(result_, other.result_);
    std::swap(memory_, other.memory_);
    std::swap(region_, other.region_);
    std::swap(pool_, other.pool_);
    return *this;
  }

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {memory_, result_.bytes}; }
  // Of a send of the same memory.
  [[nodiscard]] exs_mhandle_t region() const noexcept { return region_; }
  // The message was longer than a buffer.
  [[nodiscard]] bool truncated() const noexcept { return result_.truncated(); }

 private:
  Result result_;
  std::byte* memory_;
  exs_mhandle_t region_;
  exs_phandle_t pool_;
};

}  // namespace exs::cpp

#endif  // EXS_CPP_RECEIVE_POOL_HPP
