// An RDMA device as this process uses it: one protection domain, the memory registered there, what it can do,
// and its asynchronous events.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/drive_lock.h"
#include "base/status.h"
#include "src/provider/provider.h"
#include "src/provider/verbs/owned.h"

namespace exs::verbs {

enum class DeviceFailure : std::uint8_t {
  kQueuePair,  // one queue pair can no longer be used
  kPort,       // the port went down
  kDevice,     // the device is gone, or must be reset
};

// Notified of failures of each device that it has joined. Thread: any, with the device's lock held: it takes
// a note and rings.
class DeviceUser {
 public:
  virtual ~DeviceUser() = default;
  // `number`: of the queue pair or the port.
  virtual void device_failed(const ibv_context* device, DeviceFailure kind, std::uint32_t number) = 0;
};

// Thread: any. Lives as long as the process once it is open: librdmacm keeps the context.
class Device {
 public:
  // `context` is librdmacm's, one a device and process.
  static Result<std::unique_ptr<Device>> open(ibv_context* context);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] ibv_context* context() const noexcept { return context_; }
  [[nodiscard]] ibv_pd* domain() const noexcept { return domain_; }
  [[nodiscard]] const ibv_device_attr& limits() const noexcept { return limits_; }
  [[nodiscard]] const char* name() const noexcept { return ::ibv_get_device_name(context_->device); }
  // iWARP: a message needs a posted receive or the connection ends, and the sink of a READ is open to WRITEs
  // of the peer.
  [[nodiscard]] bool is_iwarp() const noexcept {
    return context_->device->transport_type == IBV_TRANSPORT_IWARP;
  }

  // Registers `memory` under `key` for transfers of our own. ENOMEM: more than may be pinned; while nothing
  // uses the device that is no error, but keeps begin_use() from succeeding.
  Status add(MemoryKey key, std::span<std::byte> memory);
  // A connection is about to use it. ENOMEM: some memory cannot be registered.
  Status begin_use();
  void remove(MemoryKey key) noexcept;
  // The key of the memory in our work requests. 0: not registered.
  [[nodiscard]] std::uint32_t local_key(MemoryKey key);
  // A registration of its own, `access` as of ibv_reg_mr.
  Result<MemoryRegion> expose(std::span<std::byte> memory, int access);

  // Readable while events wait; the thread that sees it calls read_events().
  [[nodiscard]] int event_fd() const noexcept { return context_->async_fd; }
  void read_events();
  void join(DeviceUser& user);
  void leave(DeviceUser& user) noexcept;

 private:
  Device(ibv_context* context, ibv_pd* domain, const ibv_device_attr& limits);
  Result<MemoryRegion> pin_for_ourselves(std::span<std::byte> memory);
  void notify_users(const ibv_async_event& event) EXS_REQUIRES(events_mutex_);

  ibv_context* const context_;
  ibv_pd* const domain_;
  const ibv_device_attr limits_;
  const OwnedCq placeholder_;  // of hold_misread_key()
  Mutex mutex_;
  std::unordered_map<std::uint32_t, MemoryRegion> regions_ EXS_GUARDED_BY(mutex_);
  std::unordered_map<std::uint32_t, std::span<std::byte>> missing_ EXS_GUARDED_BY(mutex_);
  bool is_used_ EXS_GUARDED_BY(mutex_) = false;
  Mutex events_mutex_;
  std::vector<DeviceUser*> users_ EXS_GUARDED_BY(events_mutex_);
};

// The devices that this process has opened, and the memory they all know. Thread: any.
class Devices {
 public:
  // The device of a connection or listener; opened, and all memory registered there, when it is first seen.
  Result<Device*> find(ibv_context* context);
  Status add(MemoryKey key, std::span<std::byte> memory);
  void remove(MemoryKey key) noexcept;
  // False in a child of the process that opened a device: the kernel serves that process alone.
  [[nodiscard]] bool are_ours();

  // Around a fork.
  void lock() EXS_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void unlock() EXS_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  bool ours() const EXS_REQUIRES(mutex_);

  Mutex mutex_;
  pid_t opened_by_ EXS_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::uint32_t, std::span<std::byte>> memory_ EXS_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Device>> devices_ EXS_GUARDED_BY(mutex_);
};

}  // namespace exs::verbs
