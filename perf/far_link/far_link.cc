// A link of a length and a rate that one chooses, between two network namespaces of this machine: what enters it at one end leaves at the
// other so many milliseconds later, and never more than the rate. For machines whose kernel has no netem. perf/distance makes the
// namespaces.
//
//     exs-far-link NAMESPACE NAMESPACE MILLISECONDS BYTES_A_SECOND
//
// Each end is a TUN device `far0` that takes whole segments of TCP (TSO), so that a gigabyte a second passes one thread. Loses nothing:
// a device whose other end is full keeps its packets. Prints a line when both ends are there, and runs until its standard input ends.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/pages.h"
#include "base/unique_fd.h"

namespace {

using exs::UniqueFd;

constexpr std::size_t kPacketMax = 66'000;  // 64 KiB, and the header of the device
constexpr std::size_t kOnTheWayMax = std::size_t{256} << 20;
constexpr int kPacketsInTurn = 16;
constexpr std::uint64_t kSleepMostNs = 100'000'000;
constexpr std::uint64_t kWaitMostNs = 1'000'000;  // of a packet here, for those before it

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "exs-far-link: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

UniqueFd open_end(const std::string& name) {
  const UniqueFd home(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  const UniqueFd there(::open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!home.valid() || !there.valid() || ::setns(there.get(), CLONE_NEWNET) != 0) fail(name.c_str());
  UniqueFd device(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  ifreq wish{};
  std::snprintf(wish.ifr_name, sizeof wish.ifr_name, "far0");
  wish.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
  if (!device.valid() || ::ioctl(device.get(), TUNSETIFF, &wish) != 0 ||
      ::ioctl(device.get(), TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) != 0)
    fail("/dev/net/tun");
  if (::setns(home.get(), CLONE_NEWNET) != 0) fail("setns");
  return device;
}

// One direction: a ring of packets, each behind the time at which it leaves.
class Way {
 public:
  Way(int from, int to, std::uint64_t delay_ns, double ns_a_byte)
      : from_(from),
        to_(to),
        delay_ns_(delay_ns),
        ns_a_byte_(ns_a_byte),
        ring_(std::move(*exs::Pages::map(kOnTheWayMax))) {}

  [[nodiscard]] pollfd wish(std::uint64_t now_ns) const noexcept {
    return {from_, static_cast<short>(takes_more(now_ns) ? POLLIN : 0), 0};
  }
  // When something is to be done, whatever comes.
  [[nodiscard]] std::uint64_t due_ns() const noexcept {
    const std::uint64_t goes_on_ns =
        is_full() || free_ns_ <= kWaitMostNs ? UINT64_MAX : free_ns_ - kWaitMostNs;
    return is_empty() ? UINT64_MAX : std::min(front().due_ns, goes_on_ns);
  }

  void take_in(std::uint64_t now_ns) {
    for (int i = 0; i < kPacketsInTurn && takes_more(now_ns); ++i) {
      const std::size_t place = room_for_one();
      const ssize_t bytes = ::read(from_, ring_.start() + place + sizeof(Head), kPacketMax);
      if (bytes <= 0) return;
      free_ns_ =
          std::max(free_ns_, now_ns) + static_cast<std::uint64_t>(static_cast<double>(bytes) * ns_a_byte_);
      const Head head{free_ns_ + delay_ns_, static_cast<std::size_t>(bytes)};
      std::memcpy(ring_.start() + place, &head, sizeof head);
      end_ = place + sizeof head + (head.bytes + 7) / 8 * 8;
    }
  }
  void let_out(std::uint64_t now_ns) {
    for (int i = 0; i < kPacketsInTurn && !is_empty(); ++i) {
      const Head head = front();
      if (head.due_ns > now_ns) return;
      const ssize_t written = ::write(to_, ring_.start() + begin_ + sizeof head, head.bytes);
      if (written < 0 && errno == EAGAIN) return;
      begin_ += sizeof head + (head.bytes + 7) / 8 * 8;
      if (begin_ == wrap_) begin_ = wrap_ = 0;
    }
  }

 private:
  struct Head {
    std::uint64_t due_ns;
    std::size_t bytes;
  };
  static constexpr std::size_t kOne = sizeof(Head) + kPacketMax;

  [[nodiscard]] bool is_empty() const noexcept { return begin_ == end_ && wrap_ == 0; }
  // What does not go at the rate waits in the device.
  [[nodiscard]] bool takes_more(std::uint64_t now_ns) const noexcept {
    return !is_full() && free_ns_ <= now_ns + kWaitMostNs;
  }
  [[nodiscard]] bool is_full() const noexcept {
    if (wrap_ != 0) return begin_ - end_ <= kOne;
    return kOnTheWayMax - end_ < kOne && begin_ <= kOne;
  }
  // Where the next packet goes: at the start again, once the rest is too short.
  [[nodiscard]] std::size_t room_for_one() noexcept {
    if (is_empty()) begin_ = end_ = 0;
    if (wrap_ == 0 && kOnTheWayMax - end_ < kOne) {
      wrap_ = end_;
      end_ = 0;
    }
    return end_;
  }
  [[nodiscard]] Head front() const noexcept {
    Head head{};
    std::memcpy(&head, ring_.start() + begin_, sizeof head);
    return head;
  }

  const int from_;
  const int to_;
  const std::uint64_t delay_ns_;
  const double ns_a_byte_;
  std::uint64_t free_ns_ = 0;  // when the last packet has left this end
  exs::Pages ring_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t wrap_ = 0;  // not 0: packets lie from `begin_` to here, and from 0 to `end_`
};

void relay(int left, int right, std::uint64_t delay_ns, double ns_a_byte) {
  std::array<Way, 2> ways{Way(left, right, delay_ns, ns_a_byte), Way(right, left, delay_ns, ns_a_byte)};
  for (;;) {
    const std::uint64_t due_ns = std::min(ways[0].due_ns(), ways[1].due_ns());
    const std::uint64_t before_ns = exs::monotonic_ns();
    const std::uint64_t left_ns = due_ns > before_ns ? std::min(due_ns - before_ns, kSleepMostNs) : 0;
    std::array<pollfd, 3> watched{ways[0].wish(before_ns), ways[1].wish(before_ns),
                                  pollfd{STDIN_FILENO, POLLIN, 0}};
    const timespec limit{0, static_cast<long>(left_ns)};
    ::ppoll(watched.data(), watched.size(), &limit, nullptr);
    if (watched[2].revents != 0) return;
    const std::uint64_t now_ns = exs::monotonic_ns();
    for (Way& way : ways) {
      way.take_in(now_ns);
      way.let_out(now_ns);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::fprintf(stderr, "Usage: exs-far-link NAMESPACE NAMESPACE MILLISECONDS BYTES_A_SECOND\n");
    return 2;
  }
  const double delay_ms = std::strtod(arguments[3], nullptr);
  ::prctl(PR_SET_TIMERSLACK, 1);
  const UniqueFd left = open_end(arguments[1]);
  const UniqueFd right = open_end(arguments[2]);
  std::puts("both ends are there");
  std::fflush(stdout);
  relay(left.get(), right.get(), static_cast<std::uint64_t>(delay_ms * 1e6),
        1e9 / std::strtod(arguments[4], nullptr));
  return 0;
}
