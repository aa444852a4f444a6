// One shard's connections over RDMA devices.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/drive_lock.h"
#include "base/unique_fd.h"
#include "src/provider/connector.h"
#include "src/provider/verbs/address_watch.h"
#include "src/provider/verbs/link.h"
#include "src/provider/verbs/port_context.h"
#include "src/provider/verbs/recheck_timer.h"

namespace exs::verbs {

// Nothing is opened before the first connection or listener needs it. Thread: shard.
class VerbsPort final : public Port, private Connector, private DeviceUser {
 public:
  static Result<std::unique_ptr<Port>> open(Devices& devices);
  ~VerbsPort() override;

  [[nodiscard]] Connector* connector() noexcept override { return this; }

  void flush() override;
  void progress(std::uint64_t now_ns) override;
  bool poll_memory(bool rang) override;
  [[nodiscard]] std::uint64_t arrivals() const noexcept override { return context_.arrivals; }
  std::size_t poll(std::span<Completion> out) override { return context_.completions.take(out); }
  [[nodiscard]] std::uint64_t next_deadline_ns() const noexcept override;
  [[nodiscard]] int wait_fd() const noexcept override { return context_.poller.descriptor(); }
  bool arm() override;
  void disarm() override;

 private:
  // An event that a device or the kernel reported to another thread, or that this thread has to read.
  class Wakeup final : public Pollable {
   public:
    explicit Wakeup(VerbsPort& port) : port_(port) {}
    void ready(std::uint32_t) override { port_.handle_device_events(); }

   private:
    VerbsPort& port_;
  };
  class DeviceEvents final : public Pollable {
   public:
    explicit DeviceEvents(Device& device) : device_(device) {}
    void ready(std::uint32_t) override { device_.read_events(); }
    [[nodiscard]] Device& device() noexcept { return device_; }

   private:
    Device& device_;
  };
  struct Failure {
    const ibv_context* device = nullptr;
    DeviceFailure kind = DeviceFailure::kQueuePair;
    std::uint32_t number = 0;
  };

  VerbsPort(Poller&& poller, Devices& devices, UniqueFd wakeup);

  // Connector
  bool may_reach(const sockaddr* peer, Reason& why_not) override;
  Result<std::unique_ptr<Link>> connect(int descriptor, const sockaddr* peer, socklen_t peer_bytes,
                                        const ConnectParameters& parameters,
                                        std::uint64_t link_token) override;
  Result<std::unique_ptr<PortListener>> listen(int descriptor, const ListenParameters& parameters,
                                               std::uint64_t listener_token) override;
  Result<std::unique_ptr<Link>> accept(std::unique_ptr<ConnectionRequest> request, int descriptor,
                                       const ConnectParameters& parameters,
                                       std::uint64_t link_token) override;

  void device_failed(const ibv_context* device, DeviceFailure kind, std::uint32_t number) override;
  void handle_device_events();
  void address_gone(const sockaddr& address);
  Status open_channel();
  static Result<Queues*> queues_of(PortContext& context, rdma_cm_id& id);
  void watch_events_of(Device& device);
  void poll_descriptors();
  void end_marked_links();
  void drop_closed();
  void run_timers();

  std::unique_ptr<PortContext> owned_context_;  // outlives the port while the kernel holds on to a connection
  PortContext& context_;
  AddressWatch addresses_;
  const UniqueFd wakeup_fd_;
  Wakeup wakeup_;
  RecheckTimer recheck_timer_;
  std::vector<std::unique_ptr<DeviceEvents>> watched_;
  bool in_use_ = false;  // something may come from the kernel
  bool must_poll_descriptors_ = true;
  std::uint64_t descriptors_polled_ns_ = 0;
  Mutex failures_mutex_;
  std::vector<Failure> failures_ EXS_GUARDED_BY(failures_mutex_);
};

}  // namespace exs::verbs
