// SPDX-License-Identifier: BSD-2-Clause
#include <cstring>
#include <memory>

#include "base/guarded_copy.h"
#include "src/provider/shm/port.h"
#include "src/provider/shm/settings.h"
#include "src/provider/shm/shared_regions.h"
#include "src/provider/shm/shm.h"

namespace exs::shm {
namespace {

// Thread: any.
class ShmProvider final : public Provider {
 public:
  explicit ShmProvider(const Settings& settings) : settings_(settings) {}

  [[nodiscard]] ProviderId id() const noexcept override { return ProviderId::kShm; }
  [[nodiscard]] std::string_view name() const noexcept override { return "shm"; }

  Status register_memory(MemoryKey key, std::span<std::byte> region, Access, int shared_fd) override {
    if (shared_fd >= 0) regions_.add(key, region, shared_fd);
    return {};
  }
  void deregister_memory(MemoryKey key) noexcept override { regions_.remove(key); }

  Result<std::unique_ptr<Port>> open_port(Reason& why_not) override {
    auto port = ShmPort::open(settings_, regions_);
    if (!port) {
      why_not = Reason::make(ReasonCode::kFailed, "its port could not be opened: %s",
                             std::strerror(port.error().error()));
    }
    return port;
  }
  void before_fork() noexcept override {
    regions_.lock();
    FaultWatch::lock();
  }
  void after_fork(ForkSide side) noexcept override {
    FaultWatch::unlock();
    if (side == ForkSide::kChild) regions_.leave_to_parent();
    regions_.unlock();
  }

 private:
  const Settings settings_;
  SharedRegions regions_;
};

}  // namespace

std::unique_ptr<Provider> make_shm_provider(const Settings& settings) {
  return std::make_unique<ShmProvider>(settings);
}

std::unique_ptr<Provider> make_shm_provider() {
  return make_shm_provider(settings_from_environment());
}

}  // namespace exs::shm
