// Receive buffers that many sockets share.
#ifndef EXS_CPP_RECEIVE_POOL_HPP
#define EXS_CPP_RECEIVE_POOL_HPP

#include <exs/cpp/error.hpp>

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
  std::error_code give_back(const exs_event_t& event) const noexcept {
    return outcome_of(exs_pool_return(handle_, event.exs_evt_union.exs_evt_xfer.exs_evt_buf));
  }

 private:
  exs_phandle_t handle_;
};

}  // namespace exs::cpp

#endif  // EXS_CPP_RECEIVE_POOL_HPP
