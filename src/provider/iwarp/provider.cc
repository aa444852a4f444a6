#include <atomic>
#include <cstdint>

#include "src/provider/iwarp/iwarp.h"
#include "src/provider/iwarp/limits.h"
#include "src/provider/iwarp/port.h"
#include "src/provider/iwarp/settings.h"

namespace exs::iwarp {
namespace {

// Thread: any.
class IwarpProvider final : public Provider {
 public:
  explicit IwarpProvider(const Settings& settings) noexcept : settings_(settings) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "iwarp"; }
  [[nodiscard]] Limits limits() const noexcept override {
    return {kMessageBytesMax, kUserPrivateMax, kReadDepthMax, kTransferBytesMax};
  }

  // The CPU moves every byte through the process's own mapping, so there is nothing to pin or translate.
  Result<MemoryKey> register_memory(std::span<std::byte> region, Access) override {
    const auto start = reinterpret_cast<std::uintptr_t>(region.data());
    if (region.data() == nullptr || region.empty() || start + region.size() < start) return failure(EINVAL);
    // Relaxed: the counter orders nothing, its values only have to differ.
    std::uint32_t key = 0;
    while (key == 0) key = next_key_.fetch_add(1, std::memory_order_relaxed);
    return MemoryKey{key};
  }
  void deregister_memory(MemoryKey) noexcept override {}

  Result<std::unique_ptr<Port>> open_port() override { return IwarpPort::open(settings_); }

 private:
  const Settings settings_;
  std::atomic<std::uint32_t> next_key_{1};
};

}  // namespace

std::unique_ptr<Provider> make_iwarp_provider(const Settings& settings) {
  return std::make_unique<IwarpProvider>(settings);
}

std::unique_ptr<Provider> make_iwarp_provider() {
  return make_iwarp_provider(settings_from_environment());
}

}  // namespace exs::iwarp
