// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/verbs/device.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/kernel.h"
#include "src/log/log.h"
#include "src/provider/verbs/siw_keys.h"

namespace exs::verbs {
namespace {

Result<MemoryRegion> pin(const char* device, ibv_pd* domain, std::span<std::byte> memory, int access) {
  MemoryRegion region(::ibv_reg_mr(domain, memory.data(), memory.size(), static_cast<unsigned int>(access)));
  if (region) return region;
  const int error = errno;
  rlimit limit{};
  kernel::getrlimit(RLIMIT_MEMLOCK, &limit);
  if (error == ENOMEM) {
    log(LogLevel::kError,
        "verbs: {}: cannot pin {} bytes: ENOMEM; the process may lock {} KiB: raise ulimit -l", device,
        memory.size(), limit.rlim_cur / 1024);
  }
  return failure(error);
}

}  // namespace

// ---------------------------------------------------------------- memory

Result<std::unique_ptr<Device>> Device::open(ibv_context* context) {
  ibv_device_attr limits{};
  if (const int error = ::ibv_query_device(context, &limits); error != 0) return failure(error);
  ibv_pd* const domain = ::ibv_alloc_pd(context);
  if (domain == nullptr) return failure(errno);
  kernel::fcntl(context->async_fd, F_SETFL, kernel::fcntl(context->async_fd, F_GETFL) | O_NONBLOCK);
  return std::unique_ptr<Device>(new Device(context, domain, limits));
}

Device::Device(ibv_context* context, ibv_pd* domain, const ibv_device_attr& limits)
    : context_(context), domain_(domain), limits_(limits), placeholder_(hold_misread_key(context, limits)) {}

Device::~Device() {
  {
    LockGuard guard(mutex_);
    regions_.clear();
  }
  ::ibv_dealloc_pd(domain_);
}

Result<MemoryRegion> Device::pin_for_ourselves(std::span<std::byte> memory) {
  auto region = pin(name(), domain_, memory, IBV_ACCESS_LOCAL_WRITE);
  // The process cannot write this memory, so it will be asked for reads only.
  if (!region && (region.error() == Status(EFAULT) || region.error() == Status(EACCES)))
    region = pin(name(), domain_, memory, 0);
  return region;
}

Status Device::add(MemoryKey key, std::span<std::byte> memory) {
  auto region = pin_for_ourselves(memory);
  LockGuard guard(mutex_);
  if (region) {
    regions_[key.value] = std::move(*region);
    return Status();
  }
  if (is_used_ || region.error() != Status(ENOMEM)) return region.error();
  missing_[key.value] = memory;
  return Status();
}

Status Device::begin_use() {
  LockGuard guard(mutex_);
  while (!missing_.empty()) {
    const auto [key, memory] = *missing_.begin();
    auto region = pin_for_ourselves(memory);
    if (!region) return region.error();
    regions_[key] = std::move(*region);
    missing_.erase(key);
  }
  is_used_ = true;
  return Status();
}

void Device::remove(MemoryKey key) noexcept {
  MemoryRegion gone;  // after the lock
  LockGuard guard(mutex_);
  missing_.erase(key.value);
  const auto found = regions_.find(key.value);
  if (found == regions_.end()) return;
  gone = std::move(found->second);
  regions_.erase(found);
}

std::uint32_t Device::local_key(MemoryKey key) {
  LockGuard guard(mutex_);
  const auto found = regions_.find(key.value);
  return found == regions_.end() ? 0 : found->second->lkey;
}

Result<MemoryRegion> Device::expose(std::span<std::byte> memory, int access) {
  return pin(name(), domain_, memory, access);
}

// ---------------------------------------------------------------- events

void Device::join(DeviceUser& user) {
  LockGuard guard(events_mutex_);
  users_.push_back(&user);
}

void Device::leave(DeviceUser& user) noexcept {
  LockGuard guard(events_mutex_);
  std::erase(users_, &user);
}

void Device::read_events() {
  LockGuard guard(events_mutex_);
  ibv_async_event event{};
  while (::ibv_get_async_event(context_, &event) == 0) {
    notify_users(event);
    ::ibv_ack_async_event(&event);
  }
}

void Device::notify_users(const ibv_async_event& event) {
  DeviceFailure kind{};
  std::uint32_t number = 0;
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      kind = DeviceFailure::kQueuePair;
      number = event.element.qp->qp_num;
      break;
    case IBV_EVENT_PORT_ERR:
      kind = DeviceFailure::kPort;
      number = static_cast<std::uint32_t>(event.element.port_num);
      log(LogLevel::kWarn, "verbs: {} port {} went down: its connections end with ENETDOWN", name(), number);
      break;
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
      kind = DeviceFailure::kDevice;
      log(LogLevel::kError, "verbs: {}: {}: its connections end", name(),
          ::ibv_event_type_str(event.event_type));
      break;
    default: return;
  }
  for (DeviceUser* user : users_) user->device_failed(context_, kind, number);
}

// ---------------------------------------------------------------- all of them

bool Devices::ours() const {
  return opened_by_ == 0 || opened_by_ == kernel::getpid();
}

bool Devices::are_ours() {
  LockGuard guard(mutex_);
  return ours();
}

Result<Device*> Devices::find(ibv_context* context) {
  LockGuard guard(mutex_);
  if (!ours()) return failure(ENODEV);
  for (const auto& device : devices_) {
    if (device->context() == context) return device.get();
  }
  auto device = Device::open(context);
  if (!device) return failure(device.error());
  for (const auto& [key, memory] : memory_) {
    if (const Status status = (*device)->add({key}, memory); !status.ok()) return failure(status);
  }
  opened_by_ = kernel::getpid();
  return devices_.emplace_back(std::move(*device)).get();
}

Status Devices::add(MemoryKey key, std::span<std::byte> memory) {
  LockGuard guard(mutex_);
  for (std::size_t i = 0; ours() && i < devices_.size(); ++i) {
    const Status status = devices_[i]->add(key, memory);
    if (status.ok()) continue;
    while (i-- > 0) devices_[i]->remove(key);
    return status;
  }
  memory_[key.value] = memory;
  return Status();
}

void Devices::remove(MemoryKey key) noexcept {
  LockGuard guard(mutex_);
  if (ours()) {
    for (const auto& device : devices_) device->remove(key);
  }
  memory_.erase(key.value);
}

}  // namespace exs::verbs
