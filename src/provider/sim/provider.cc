// SPDX-License-Identifier: BSD-2-Clause
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "base/drive_lock.h"
#include "src/provider/connector.h"
#include "src/provider/sim/listener.h"
#include "src/provider/sim/network.h"
#include "src/provider/sim/port.h"
#include "src/provider/sim/settings.h"
#include "src/provider/sim/sim.h"

namespace exs::sim {
namespace {

// Thread: any.
class TheSimProvider final : public SimProvider, private OwnListening {
 public:
  explicit TheSimProvider(const Settings& settings) { begin(settings); }

  [[nodiscard]] ProviderId id() const noexcept override { return ProviderId::kSim; }
  [[nodiscard]] std::string_view name() const noexcept override { return "sim"; }
  [[nodiscard]] OwnListening* own_listening() noexcept override { return this; }
  // Both ends are in this process, so all memory is at hand.
  Status register_memory(MemoryKey, std::span<std::byte>, Access, int) override { return Status(); }
  void deregister_memory(MemoryKey) noexcept override {}
  Result<std::unique_ptr<Port>> open_port(Reason& why_not) override {
    auto port = SimPort::open(network());
    if (!port) why_not = Reason::make(ReasonCode::kNoDescriptors, "eventfd");
    return port;
  }
  // The child begins with a network of its own, at its exs_init.
  void before_fork() noexcept override EXS_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.lock();
    network_->mutex.lock();
  }
  void after_fork(ForkSide /*side*/) noexcept override EXS_NO_THREAD_SAFETY_ANALYSIS {
    network_->mutex.unlock();
    mutex_.unlock();
  }

  // SimProvider
  std::string restart(std::string_view words) override {
    Settings settings;
    std::string wrong = read_settings(words, settings);
    if (wrong.empty()) begin(settings);
    return wrong;
  }
  [[nodiscard]] VirtualClock* clock() noexcept override { return is_virtual_ ? &clock_ : nullptr; }
  [[nodiscard]] bool interrupts() override {
    const auto current = network();
    LockGuard guard(current->mutex);
    return current->interrupts();
  }
  [[nodiscard]] Report report() override {
    const auto current = network();
    LockGuard guard(current->mutex);
    return {current->settings.seed, current->steps(),
            is_virtual_ ? clock_.now_ns() - VirtualClock::kStartNs : 0, current->trace()};
  }
  [[nodiscard]] bool wants_report() const noexcept override { return wants_report_; }

 private:
  void begin(const Settings& settings) {
    LockGuard guard(mutex_);
    clock_.restart(settings.tick_ns);
    network_ = std::make_shared<Network>(settings, clock_);
    is_virtual_ = settings.virtual_clock;
    wants_report_ = settings.report;
  }

  // OwnListening
  Result<std::unique_ptr<ProcessListener>> start_listening(int descriptor, int backlog) override {
    return SimListening::start(network(), descriptor, backlog);
  }
  Status check_address(const sockaddr& address) override {
    const auto current = network();
    LockGuard guard(current->mutex);
    return Status(current->is_taken(copy_of(address)) ? EADDRINUSE : 0);
  }

  std::shared_ptr<Network> network() {
    LockGuard guard(mutex_);
    return network_;
  }

  VirtualClock clock_;
  Mutex mutex_;
  std::shared_ptr<Network> network_ EXS_GUARDED_BY(mutex_);
  std::atomic<bool> is_virtual_{true};
  std::atomic<bool> wants_report_{false};
};

}  // namespace

std::unique_ptr<SimProvider> make_sim_provider() {
  return make_sim_provider(Settings());
}

std::unique_ptr<SimProvider> make_sim_provider(const Settings& settings) {
  return std::make_unique<TheSimProvider>(settings);
}

}  // namespace exs::sim
