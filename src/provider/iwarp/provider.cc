// SPDX-License-Identifier: BSD-2-Clause
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

  [[nodiscard]] ProviderId id() const noexcept override { return ProviderId::kIwarp; }
  [[nodiscard]] std::string_view name() const noexcept override { return "iwarp"; }

  // The CPU moves every byte through the process's own mapping, so there is nothing to pin or translate.
  Status register_memory(MemoryKey, std::span<std::byte>, Access, int) override { return Status(); }
  void deregister_memory(MemoryKey) noexcept override {}

  Result<std::unique_ptr<Port>> open_port(Reason& /*why_not*/) override { return IwarpPort::open(settings_); }

 private:
  const Settings settings_;
};

}  // namespace

std::unique_ptr<Provider> make_iwarp_provider(const Settings& settings) {
  return std::make_unique<IwarpProvider>(settings);
}

std::unique_ptr<Provider> make_iwarp_provider() {
  return make_iwarp_provider(settings_from_environment());
}

}  // namespace exs::iwarp
