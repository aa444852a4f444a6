// exs_pool_create, exs_pool_delete, exs_pool_return, exs_recv_pooled.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/refusal.h"
#include "src/api/api_call.h"
#include "src/api/refusals.h"
#include "src/api/transfer.h"

namespace exs {
namespace {

Status check_buffers(const Region& region, exs_mhandle_t region_handle, const void* buffers,
                     std::size_t buffer_bytes, std::uint32_t count) {
  if (buffer_bytes == 0 || count == 0)
    return refuse(EINVAL, "{} buffers of {} bytes: a pool has at least one buffer, of at least one byte",
                  count, buffer_bytes);
  const bool fits = buffer_bytes <= SIZE_MAX / count && region.contains(buffers, buffer_bytes * count);
  if (!fits)
    return refuse(EFAULT,
                  "the {} buffers of {} bytes at {:#x} are not inside the region {:#x}: register all of them",
                  count, buffer_bytes, reinterpret_cast<std::uintptr_t>(buffers), int{region_handle});
  return region.writable() ? Status() : not_writable(buffers, buffer_bytes * count);
}

Result<exs_phandle_t> create_pool(Library& library, std::byte* buffers, std::size_t buffer_bytes,
                                  std::uint32_t count, exs_mhandle_t region_handle) {
  const auto region = library.regions.find(region_handle);
  if (!region) return failure(no_such_region(region_handle));
  const Status status = check_buffers(*region, region_handle, buffers, buffer_bytes, count);
  if (!status.ok()) return failure(status);
  if (!region->use()) return failure(no_such_region(region_handle));
  std::shared_ptr<ReceivePool> pool;
  try {
    pool = std::make_shared<ReceivePool>(region, region_handle, buffers, buffer_bytes, count);
  } catch (const std::bad_alloc&) {
    region->release();
    return failure(ENOMEM);
  }
  const int handle = library.pools.insert(std::move(pool));
  if (handle != 0) return static_cast<exs_phandle_t>(handle);
  return failure(refuse(ENOMEM, "{} pools are the most: delete some", HandleTable<ReceivePool>::kMost));
}

Status delete_pool(Library& library, exs_phandle_t handle) {
  const auto pool = library.pools.find(handle);
  if (!pool) return no_such_pool(handle);
  if (!pool->retire())
    return refuse(EBUSY, "receives take buffers of the pool: cancel them, or close their sockets, first");
  library.pools.remove(handle);
  return Status();
}

Status return_buffer(Library& library, exs_phandle_t handle, const void* buffer) {
  const auto pool = library.pools.find(handle);
  if (!pool) return no_such_pool(handle);
  const Status status = pool->give_back(buffer);
  if (status.ok()) return status;
  return refuse(EINVAL,
                "{:#x} is no buffer that an event of this pool has given out and that is not returned yet",
                reinterpret_cast<std::uintptr_t>(buffer));
}

// Holds a use of the pool until a receive takes it over.
class PoolUse {
 public:
  explicit PoolUse(ReceivePool& pool) : pool_(pool), held_(pool.use()) {}
  ~PoolUse() {
    if (held_) pool_.release();
  }
  PoolUse(const PoolUse&) = delete;
  PoolUse& operator=(const PoolUse&) = delete;
  [[nodiscard]] bool held() const noexcept { return held_; }
  void hand_over() noexcept { held_ = false; }

 private:
  ReceivePool& pool_;
  bool held_;
};

Status receive_pooled(Library& library, const TransferRequest& request, exs_phandle_t handle) {
  if (request.flags != 0) return no_such_flags(request.flags);
  const auto target = find_target(library, request);
  if (!target) return target.error();
  const auto pool = library.pools.find(handle);
  if (!pool) return no_such_pool(handle);
  PoolUse use(*pool);
  if (!use.held()) return no_such_pool(handle);
  OperationReservation reservation(*target, request.direction, true);
  if (!reservation.status().ok()) return reservation.status();
  const auto session = target->session->shared_from_this();
  auto receive =
      std::make_shared<PooledReceive>(session, pool, ControlTarget{target->held_queue, request.handle});
  use.hand_over();
  auto task = make_task([session, receive]() mutable { session->receive_pooled(std::move(receive)); });
  reservation.hand_over();
  session->shard()->execute(std::move(task));
  return Status();
}

}  // namespace
}  // namespace exs

using namespace exs;

exs_phandle_t exs_pool_create(void* buffers, size_t buffer_bytes, uint32_t count, exs_mhandle_t region) {
  return api_call(EXS_PHANDLE_INVALID, [&](Library& library) {
    return create_pool(library, static_cast<std::byte*>(buffers), buffer_bytes, count, region);
  });
}

int exs_pool_delete(exs_phandle_t pool) {
  return api_call([&](Library& library) { return delete_pool(library, pool); });
}

int exs_pool_return(exs_phandle_t pool, void* buffer) {
  return api_call([&](Library& library) { return return_buffer(library, pool, buffer); });
}

int exs_recv_pooled(int socket, exs_phandle_t pool, int flags, exs_qhandle_t queue, exs_ahandle_t handle) {
  return api_call([&](Library& library) {
    const TransferRequest request{proto::Direction::kReceive, socket, flags, queue, handle};
    return receive_pooled(library, request, pool);
  });
}
