// A provider whose one port does nothing but count: what shards, queues and engines are tested on.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/unique_fd.h"
#include "event/engine/shard.h"
#include "src/provider/provider.h"

namespace exs::test {

// Thread: what the shard calls, its holder; the rest, any.
class FakePort final : public Port, private SingleIssuer {
 public:
  void flush() override { ++flushes; }
  void progress(std::uint64_t) override {
    ++looks;
    take_in();
  }
  bool poll_memory(bool rang) override {
    ++glances;
    if (rang && rings_for_messages) take_in();
    return !rang || rings_for_messages;
  }
  [[nodiscard]] unsigned looks_in_a_row() const noexcept override { return on_news ? 1 : 0; }
  bool take_news(const bool& /*enough*/) override {
    on_news();
    return true;
  }
  [[nodiscard]] std::uint64_t arrivals() const noexcept override { return arrivals_; }
  std::size_t poll(std::span<Completion> out) override {
    std::size_t count = 0;
    for (; count < out.size() && !ready_.empty(); ++count) {
      out[count] = ready_.front();
      ready_.pop_front();
    }
    return count;
  }
  [[nodiscard]] std::uint64_t next_deadline_ns() const noexcept override { return deadline_ns; }
  [[nodiscard]] int wait_fd() const noexcept override { return arrival_.get(); }
  bool arm() override { return quiet; }
  [[nodiscard]] SingleIssuer* single_issuer() noexcept override { return this; }

  // The network brings a completion: progress() finds it.
  void bring(const Completion& completion) {
    std::lock_guard guard(mutex_);
    arrived_.push_back(completion);
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(arrival_.get(), &one, sizeof one);
  }

  std::atomic<int> flushes{0};
  std::atomic<int> looks{0};
  std::atomic<int> glances{0};
  std::atomic<bool> quiet{true};
  std::atomic<bool> rings_for_messages{false};  // which a glance finds
  std::atomic<std::thread::id> engine{};
  std::atomic<std::uint64_t> deadline_ns{kNoDeadline};
  std::function<void()> on_news;  // what a brief look brings; none: no look of this port is brief

 private:
  void bind_thread() override { engine = std::this_thread::get_id(); }
  void take_in() {
    std::lock_guard guard(mutex_);
    if (arrived_.empty()) return;
    ++arrivals_;
    std::uint64_t count = 0;
    [[maybe_unused]] const auto taken = ::read(arrival_.get(), &count, sizeof count);
    std::move(arrived_.begin(), arrived_.end(), std::back_inserter(ready_));
    arrived_.clear();
  }

  std::uint64_t arrivals_ = 0;  // Thread: shard
  const UniqueFd arrival_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex_;
  std::deque<Completion> arrived_;
  std::deque<Completion> ready_;
};

class FakeProvider final : public Provider {
 public:
  [[nodiscard]] ProviderId id() const noexcept override { return ProviderId::kIwarp; }
  [[nodiscard]] std::string_view name() const noexcept override { return "fake"; }
  Status register_memory(MemoryKey, std::span<std::byte>, Access, int) override { return Status(); }
  void deregister_memory(MemoryKey) noexcept override {}
  Result<std::unique_ptr<Port>> open_port(Reason&) override {
    auto made = std::make_unique<FakePort>();
    port = made.get();
    return made;
  }

  FakePort* port = nullptr;  // the last one opened
};

inline ProviderSet& providers_of(Provider& provider) {
  static ProviderSet set;  // of whichever fake is used: one at a time
  set.add(provider, Role::kNetwork);
  return set;
}

struct ShardFixture {
  FakeProvider provider;
  std::shared_ptr<Shard> shard = std::move(*Shard::create(providers_of(provider)));
  FakePort& port = *provider.port;

  // As a thread that waits and spins.
  void drive() { shard->drive(monotonic_ns(), true); }
  template <typename Body>
  void execute(Body&& body) {
    shard->execute(make_task(std::forward<Body>(body)));
  }
};

}  // namespace exs::test
