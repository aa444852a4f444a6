// The coroutines of a loop that wait for descriptors: files of the kernel, and the queue of the loop beside them.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_DESCRIPTORS_HPP
#define EXS_CPP_DESCRIPTORS_HPP

#include <exs/cpp/error.hpp>

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace exs::cpp::detail {

// Waits for one direction of a descriptor.
class DescriptorWait {
 public:
  DescriptorWait(int descriptor, std::uint32_t direction) noexcept
      : descriptor_(descriptor), direction_(direction) {}
  DescriptorWait(DescriptorWait&& other) noexcept  // before it is added
      : descriptor_(other.descriptor_), direction_(other.direction_) {}
  DescriptorWait& operator=(DescriptorWait&&) = delete;
  // It is ready (no error), or (ECANCELED) the loop ends. Called once, or removed.
  virtual void ready(std::error_code why) = 0;

 protected:
  virtual ~DescriptorWait() = default;

 private:
  friend class Descriptors;
  const int descriptor_;
  const std::uint32_t direction_;  // EPOLLIN or EPOLLOUT
};

// An epoll set, opened when it is first needed, which holds the queue's descriptor and those that are awaited. The
// latter are told once and armed again by the next wait, so nobody is woken by one that nobody awaits.
class Descriptors {
 public:
  Descriptors() noexcept = default;
  ~Descriptors() {
    if (set_ != -1) ::close(set_);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  // The set, which is readable while the queue holds events or an awaited descriptor is ready; -1: errno says why.
  [[nodiscard]] int open(exs_qhandle_t queue) noexcept {
    if (set_ != -1) return set_;
    queue_ = exs_qfd(queue);
    if (queue_ == -1) return -1;
    const int set = ::epoll_create1(EPOLL_CLOEXEC);
    if (set == -1) return -1;
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.fd = queue_;
    if (::epoll_ctl(set, EPOLL_CTL_ADD, queue_, &wanted) == -1) {
      const int error = errno;
      ::close(set);
      errno = error;
      return -1;
    }
    return set_ = set;
  }
  // EBADF; EPERM it is always ready, like a file of a disk; ENOMEM; EMFILE.
  std::error_code add(exs_qhandle_t queue, DescriptorWait& wait) noexcept try {
    if (open(queue) == -1) return error_of(errno);
    ready_.reserve(count_ + 1 + ready_.size());  // so that telling needs no memory
    std::vector<DescriptorWait*>& waits = waits_[wait.descriptor_];
    waits.push_back(&wait);
    ++count_;
    const std::error_code error = arm(wait.descriptor_, waits);
    if (error) remove(wait);
    return error;
  } catch (const std::bad_alloc&) {
    remove(wait);
    return error_of(ENOMEM);
  }
  void remove(const DescriptorWait& wait) noexcept {
    std::erase(ready_, &wait);
    const auto found = waits_.find(wait.descriptor_);
    if (found == waits_.end() || std::erase(found->second, &wait) == 0) return;
    --count_;
    static_cast<void>(arm(found->first, found->second));
    if (found->second.empty()) waits_.erase(found);
  }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

  // Sleeps until the queue holds events, an awaited descriptor is ready, or the timeout (none: no limit) is over.
  // Resumes who waited for the latter. False: nobody. EINTR.
  bool wait(std::optional<std::chrono::nanoseconds> timeout, std::error_code& error) {
    constexpr int kAtOnce = 64;
    std::array<epoll_event, kAtOnce> told{};
    if (!sleep(timeout, error)) return false;
    const int count = ::epoll_wait(set_, told.data(), kAtOnce, 0);
    bool any = false;
    for (int i = 0; i < count; ++i) {
      const auto& [events, data] = told[static_cast<std::size_t>(i)];
      if (data.fd != queue_) find_ready(data.fd, events);
    }
    for (; !ready_.empty(); any = true) {
      DescriptorWait& first = *ready_.front();
      ready_.erase(ready_.begin());
      first.ready({});
    }
    return any;
  }
  void cancel_all() {
    while (count_ > 0) {
      DescriptorWait& first = *waits_.begin()->second.front();
      remove(first);
      first.ready(error_of(ECANCELED));
    }
  }

 private:
  bool sleep(std::optional<std::chrono::nanoseconds> timeout, std::error_code& error) const noexcept {
    pollfd watched{set_, POLLIN, 0};
    timespec limit{};
    if (timeout) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*timeout);
      limit = {static_cast<time_t>(seconds.count()), static_cast<long>((*timeout - seconds).count())};
    }
    const int ready = ::ppoll(&watched, 1, timeout ? &limit : nullptr, nullptr);
    if (ready == -1) error = error_of(errno);
    return ready == 1;
  }
  // What the set tells of the descriptor next. The kernel has forgotten one that was closed meanwhile.
  [[nodiscard]] std::error_code arm(int descriptor,
                                    const std::vector<DescriptorWait*>& waits) const noexcept {
    epoll_event wanted{};
    wanted.data.fd = descriptor;
    for (const DescriptorWait* wait : waits) wanted.events |= wait->direction_;
    if (wanted.events == 0) return error_after(::epoll_ctl(set_, EPOLL_CTL_DEL, descriptor, nullptr));
    wanted.events |= EPOLLONESHOT;
    if (::epoll_ctl(set_, EPOLL_CTL_MOD, descriptor, &wanted) == 0) return {};
    if (errno != ENOENT) return error_of(errno);
    return error_after(::epoll_ctl(set_, EPOLL_CTL_ADD, descriptor, &wanted));
  }
  // A failure or a hang-up makes both directions ready: the next call on the descriptor tells it. So does one that
  // cannot be watched any more.
  void find_ready(int descriptor, std::uint32_t events) noexcept {
    const auto found = waits_.find(descriptor);
    if (found == waits_.end()) return;
    if ((events & (EPOLLERR | EPOLLHUP)) != 0) events |= EPOLLIN | EPOLLOUT;
    std::vector<DescriptorWait*>& waits = found->second;
    tell(waits, events);
    if (!waits.empty() && arm(descriptor, waits)) tell(waits, EPOLLIN | EPOLLOUT);
    if (waits.empty()) waits_.erase(found);
  }
  void tell(std::vector<DescriptorWait*>& waits, std::uint32_t events) noexcept {
    count_ -= std::erase_if(waits, [&](DescriptorWait* wait) {
      if ((wait->direction_ & events) == 0) return false;
      ready_.push_back(wait);
      return true;
    });
  }

  int set_ = -1;
  int queue_ = -1;  // the queue's descriptor
  std::unordered_map<int, std::vector<DescriptorWait*>> waits_;
  std::size_t count_ = 0;               // of all waits
  std::vector<DescriptorWait*> ready_;  // found, but not told yet
};

}  // namespace exs::cpp::detail

#endif  // EXS_CPP_DESCRIPTORS_HPP
