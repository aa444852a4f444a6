#include <memory>

#include "src/provider/verbs/verbs.h"

namespace exs::verbs {
namespace {

// Thread: any.
class VerbsProvider final : public Provider {
 public:
  [[nodiscard]] ProviderId id() const noexcept override { return ProviderId::kVerbs; }
  [[nodiscard]] std::string_view name() const noexcept override { return "verbs"; }
  [[nodiscard]] Limits limits() const noexcept override { return {}; }
  Status register_memory(MemoryKey, std::span<std::byte>, Access, int) override { return Status(); }
  void deregister_memory(MemoryKey) noexcept override {}
  Result<std::unique_ptr<Port>> open_port(Reason& why_not) override {
    why_not = Reason::make(ReasonCode::kNoDevice, "");
    return failure(ENODEV);
  }
};

}  // namespace

std::unique_ptr<Provider> make_verbs_provider() {
  return std::make_unique<VerbsProvider>();
}

}  // namespace exs::verbs
