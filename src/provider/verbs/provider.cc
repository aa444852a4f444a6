// SPDX-License-Identifier: BSD-2-Clause
#include <memory>

#include "src/provider/connector.h"
#include "src/provider/verbs/port.h"
#include "src/provider/verbs/process_listener.h"
#include "src/provider/verbs/survey.h"
#include "src/provider/verbs/verbs.h"

namespace exs::verbs {
namespace {

// Thread: any.
class VerbsProvider final : public Provider, private OwnListening {
 public:
  [[nodiscard]] ProviderId id() const noexcept override { return ProviderId::kVerbs; }
  [[nodiscard]] std::string_view name() const noexcept override { return "verbs"; }
  [[nodiscard]] OwnListening* own_listening() noexcept override { return this; }

  Status register_memory(MemoryKey key, std::span<std::byte> region, Access, int) override {
    return devices_.add(key, region);
  }
  void deregister_memory(MemoryKey key) noexcept override { devices_.remove(key); }

  Result<std::unique_ptr<Port>> open_port(Reason& why_not) override {
    if (!any_device()) {
      why_not = Reason::make(ReasonCode::kNoDevice, "no RDMA device on this machine");
      return failure(ENODEV);
    }
    // A port may come up and an address be given later; rights stay as they are.
    if (const Reason closed = Survey().why_not(); closed.code == ReasonCode::kNoAccess) {
      why_not = closed;
      return failure(EACCES);
    }
    if (!devices_.are_ours()) {
      why_not =
          Reason::make(ReasonCode::kFailed, "the process that this one was forked from uses the devices");
      return failure(ENODEV);
    }
    return VerbsPort::open(devices_);
  }
  void before_fork() noexcept override { devices_.lock(); }
  void after_fork(ForkSide) noexcept override { devices_.unlock(); }

 private:
  // OwnListening
  Result<std::unique_ptr<ProcessListener>> start_listening(int descriptor, int backlog) override {
    if (!any_device() || !devices_.are_ours()) return std::unique_ptr<ProcessListener>();
    return VerbsProcessListener::start(descriptor, backlog);
  }

  Status check_address(const sockaddr& address) override {
    if (!any_device() || !devices_.are_ours()) return Status();
    return VerbsProcessListener::check(address);
  }

  Devices devices_;
};

}  // namespace

std::unique_ptr<Provider> make_verbs_provider() {
  return std::make_unique<VerbsProvider>();
}

}  // namespace exs::verbs
