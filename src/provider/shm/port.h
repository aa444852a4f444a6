// One shard's same-host traffic: each progress() reads the rings of all channels, and at intervals polls the
// descriptors (new channels, doorbells, the ends of TCP connections).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/drive_lock.h"
#include "base/guarded_copy.h"
#include "src/provider/shm/channel_directory.h"
#include "src/provider/shm/channel_traffic.h"
#include "src/provider/shm/link.h"
#include "src/provider/shm/port_context.h"
#include "src/provider/upgrade.h"

namespace exs::shm {

// Thread: shard.
class ShmPort final : public Port, private ConnectionUpgrade, private RegionObserver {
 public:
  static Result<std::unique_ptr<Port>> open(const Settings& settings, SharedRegions& regions);
  ~ShmPort() override;

  [[nodiscard]] ConnectionUpgrade* upgrade() noexcept override { return this; }

  void flush() override;
  void progress(std::uint64_t now_ns) override;
  bool poll_memory(bool rang) override;
  [[nodiscard]] unsigned looks_in_a_row() const noexcept override { return kLooksInARow; }
  [[nodiscard]] bool has_news() noexcept override;
  bool take_news(const bool& enough) override;
  [[nodiscard]] std::uint64_t arrivals() const noexcept override { return context_.arrivals; }
  std::size_t poll(std::span<Completion> out) override { return context_.completions.take(out); }
  [[nodiscard]] bool has_completions() const noexcept override { return !context_.completions.empty(); }
  std::size_t flush_and_poll(std::span<Completion> out) override {
    flush();
    return context_.completions.take(out);
  }
  [[nodiscard]] std::uint64_t next_deadline_ns() const noexcept override;
  [[nodiscard]] int wait_fd() const noexcept override { return context_.poller.descriptor(); }
  bool arm() override;
  void disarm() override;

 private:
  static constexpr unsigned kLooksInARow = 64;  // some 0.2 us

  // Its event has done its work when it has ended the port's sleep: progress() looks at any_gone_ then.
  class RegionGone final : public Pollable {
   public:
    void ready(std::uint32_t) override {}
  };

  ShmPort(Poller&& poller, const Settings& settings, SharedRegions& regions, UniqueFd region_gone_fd);

  // ConnectionUpgrade
  Result<UpgradeOffer> offer(Reason& why_not) override;
  Result<std::unique_ptr<PendingUpgrade>> begin(std::span<const std::byte> invitation,
                                                std::uint64_t upgrade_token) override;
  Result<std::unique_ptr<Link>> adopt(std::unique_ptr<PendingUpgrade> upgrade, int descriptor,
                                      const ConnectParameters& parameters, std::uint64_t link_token) override;

  void region_gone(MemoryKey key) noexcept override;
  void expect_regions(std::size_t most) override;
  ChannelTraffic& traffic_of(const std::shared_ptr<Channel>& channel);
  void poll_descriptors();
  void end_links_without_tcp(std::uint64_t now_ns);
  void retract_gone_regions();
  void drop_unused();

  const FaultWatch fault_watch_;
  PortContext context_;
  ChannelDirectory directory_;
  std::vector<std::unique_ptr<ChannelTraffic>> channel_traffic_;
  std::vector<ChannelTraffic*> flushing_;
  std::uint64_t polled_ns_ = 0;  // the descriptors
  std::uint64_t arrivals_at_poll_ = 0;
  bool must_poll_ = true;  // whatever the time
  std::size_t first_ = 0;  // the channel whose news come first

  const UniqueFd region_gone_fd_;
  RegionGone region_gone_event_;
  std::atomic<bool> any_gone_{false};  // a hint for the holder of the shard; gone_ is exact
  Mutex gone_mutex_;
  std::vector<MemoryKey> gone_ EXS_GUARDED_BY(gone_mutex_);
};

}  // namespace exs::shm
