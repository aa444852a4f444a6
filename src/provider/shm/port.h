// One shard's same-host traffic: looks at the rings of all channels at each progress(), and at descriptors
// (new channels, doorbells, the ends of TCP connections) every so often.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "src/base/drive_lock.h"
#include "src/provider/shm/exchange.h"
#include "src/provider/shm/link.h"
#include "src/provider/shm/port_context.h"
#include "src/provider/shm/rendezvous.h"
#include "src/provider/upgrade.h"

namespace exs::shm {

// Thread: shard.
class ShmPort final : public Port, private ConnectionUpgrade, private RegionUser {
 public:
  static Result<std::unique_ptr<Port>> open(const Settings& settings, Regions& regions);
  ~ShmPort() override;

  [[nodiscard]] ConnectionUpgrade* upgrade() noexcept override { return this; }

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
  // Tells the port that a region of its own has gone.
  class Bell final : public Pollable {
   public:
    void ready(std::uint32_t) override {}
  };

  ShmPort(Poller&& poller, const Settings& settings, Regions& regions, UniqueFd gone_bell);

  // ConnectionUpgrade
  Result<UpgradeOffer> offer(Reason& why_not) override;
  Result<std::unique_ptr<PendingUpgrade>> begin(std::span<const std::byte> invitation,
                                                std::uint64_t upgrade_token) override;
  Result<std::unique_ptr<Link>> adopt(std::unique_ptr<PendingUpgrade> upgrade, int descriptor,
                                      const ConnectParameters& parameters, std::uint64_t link_token) override;

  void region_gone(MemoryKey key) override;
  Exchange& exchange_of(const std::shared_ptr<Channel>& channel);
  void look_at_epoll();
  void end_ended(std::uint64_t now_ns);
  void retract_gone();
  void drop_unused();

  PortContext context_;
  Rendezvous rendezvous_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
  std::vector<Exchange*> flushing_;
  std::uint64_t looked_ns_ = 0;  // at epoll
  bool must_look_ = true;        // whatever the time

  const UniqueFd gone_bell_fd_;
  Bell gone_bell_;
  std::atomic<bool> any_gone_{false};  // a hint for who holds the shard; gone_ says it
  Mutex gone_mutex_;
  std::vector<MemoryKey> gone_ EXS_GUARDED_BY(gone_mutex_);
};

}  // namespace exs::shm
