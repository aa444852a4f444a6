// The cost of a snapshot while its owner updates the memory all the time: with one window, which must be closed for the time of a read,
// and with slots. Owner and reader are two processes of this machine; the owner spins between updates and makes no call. Prints a line
// for each provider, size and time between updates.
// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <exs/exs.h>

#include "base/clock.h"

namespace {

constexpr int kSnapshots = 100;
constexpr std::int64_t kLimitNs = 300'000'000;
constexpr std::size_t kSizes[] = {4096, 1 << 20};
constexpr unsigned kPeriodsUs[] = {0, 20, 50, 200, 500, 1000};
constexpr unsigned kSlotsOf4K = 24;
constexpr unsigned kSlotsOf1M = 14;
constexpr const char* kHelp =
    "usage: exs-snapshots\n"
    "Measures snapshots of memory that its owner updates all the time, with a window and\n"
    "with slots.\n"
    "The exit status is 0, 1 after an error, or 2 if there are arguments.\n";

// Shared by both processes. The owner writes the port, then the number of updates; the reader writes `stop`.
struct Shared {
  std::atomic<int> port;
  std::atomic<std::uint64_t> updates;
  std::atomic<bool> stop;
};

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "exs-snapshots: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

sockaddr_in address_of(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

unsigned slots_of(std::size_t size) {
  return size > 4096 ? kSlotsOf1M : kSlotsOf4K;
}

// With a window: the window in the first 64 bytes, then the data. With slots: slots.
std::size_t published_bytes(bool slots, std::size_t size) {
  return slots ? exs_slots_bytes(slots_of(size), size) : 64 + size;
}

void update(void* memory, bool slots, std::size_t size, std::uint64_t number) {
  if (slots) {
    auto* const all = static_cast<exs_slots_t*>(memory);
    std::memset(exs_slots_begin(all), static_cast<int>(number), size);
    exs_slots_end(all);
  } else {
    auto* const window = static_cast<exs_window_t*>(memory);
    exs_window_begin(window);
    std::memset(static_cast<char*>(memory) + 64, static_cast<int>(number), size);
    exs_window_end(window);
  }
}

[[noreturn]] void own(Shared& shared, bool slots, std::size_t size, unsigned period_us) {
  exs_mhandle_t region = EXS_MHANDLE_INVALID;
  require(exs_init(EXS_VERSION) == 0, "exs_init");
  void* const memory = exs_alloc(published_bytes(slots, size), &region);
  require(memory != nullptr, "exs_alloc");
  if (slots) exs_slots_init(static_cast<exs_slots_t*>(memory), slots_of(size), size);
  update(memory, slots, size, 1);
  const exs_qhandle_t queue = exs_qcreate(4);
  const int listener = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  sockaddr_in address = address_of(0);
  socklen_t length = sizeof address;
  auto* const name = static_cast<sockaddr*>(static_cast<void*>(&address));
  require(exs_bind(listener, name, length) == 0 && exs_listen(listener, 1) == 0, "exs_listen");
  require(exs_getsockname(listener, name, &length) == 0, "exs_getsockname");
  shared.port = ntohs(address.sin_port);
  const int reader = exs_accept_sync(listener, nullptr, nullptr);
  require(reader >= 0, "exs_accept_sync");
  require(exs_send(reader, memory, published_bytes(slots, size), EXS_PERSISTENT, queue, nullptr, region) == 0,
          "exs_send");
  std::uint64_t number = 1;
  std::uint64_t due_ns = exs::monotonic_ns();
  while (!shared.stop) {
    update(memory, slots, size, ++number);
    shared.updates.store(number, std::memory_order_relaxed);
    due_ns += period_us * 1000;
    if (due_ns < exs::monotonic_ns()) due_ns = exs::monotonic_ns();
    while (exs::monotonic_ns() < due_ns) __builtin_ia32_pause();
  }
  std::_Exit(0);
}

struct Result {
  int taken = 0;
  double mean_us = 0;
  double reads = 0;   // of each snapshot
  double age_us = 0;  // with slots: age of a snapshot when the call returns
};

Result measure(const char* provider, bool slots, std::size_t size, unsigned period_us) {
  void* const mapping =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(mapping != MAP_FAILED, "mmap");
  Shared& shared = *new (mapping) Shared();
  setenv("EXS_PROVIDER", provider, 1);
  const pid_t owner = fork();
  require(owner >= 0, "fork");
  if (owner == 0) own(shared, slots, size, period_us);
  while (shared.port == 0) usleep(100);
  require(exs_init(EXS_VERSION) == 0, "exs_init");
  exs_mhandle_t region = EXS_MHANDLE_INVALID;
  auto* const buffer = static_cast<unsigned char*>(exs_alloc(size, &region));
  require(buffer != nullptr, "exs_alloc");
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  const sockaddr_in address = address_of(shared.port);
  require(exs_connect_sync(socket, static_cast<const sockaddr*>(static_cast<const void*>(&address)),
                           sizeof address) == 0,
          "exs_connect_sync");
  Result result;
  exs_snapshot_t snapshot{};
  std::uint64_t age = 0;
  const std::uint64_t updates = shared.updates;
  const std::uint64_t start_ns = exs::monotonic_ns();
  for (int i = 0; i < kSnapshots; ++i) {
    const ssize_t bytes = slots ? exs_recv_snapshot(socket, buffer, size, region, 0, 0, &snapshot, kLimitNs)
                                : exs_recv_window(socket, buffer, size, region, 64, 0, kLimitNs);
    require(bytes >= 0 || errno == EINPROGRESS, "a snapshot");
    if (bytes < 0) continue;
    ++result.taken;
    age += snapshot.newest - snapshot.update;
    require(std::memcmp(buffer, buffer + 1, size - 1) == 0, "a snapshot is torn");
  }
  const double time_us = static_cast<double>(exs::monotonic_ns() - start_ns) / 1000;
  const double update_us = time_us / static_cast<double>(shared.updates - updates);
  exs_stats_t stats{};
  stats.struct_bytes = sizeof stats;
  require(exs_getstats(socket, &stats) == 0, "exs_getstats");
  result.mean_us = time_us / kSnapshots;
  result.reads = static_cast<double>(stats.recvs_done) / kSnapshots;
  if (result.taken > 0) result.age_us = static_cast<double>(age) / result.taken * update_us;
  shared.stop = true;
  waitpid(owner, nullptr, 0);
  exs_close(socket);
  exs_free(buffer);
  exs_fini();
  munmap(mapping, sizeof(Shared));
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    const bool is_question = argc == 2 && std::strcmp(argv[1], "--help") == 0;
    std::fputs(kHelp, is_question ? stdout : stderr);
    return is_question ? 0 : 2;
  }
  std::printf("%d snapshots each, time limit %.1f s; time, reads and failures of a snapshot\n", kSnapshots,
              static_cast<double>(kLimitNs) / 1e9);
  std::printf("%-8s %8s %10s | %28s | %38s\n", "provider", "bytes", "update us", "window: us, reads, failed",
              "slots: us, reads, failed, age us");
  for (const char* provider : {"shm", "iwarp"}) {
    for (const std::size_t size : kSizes) {
      for (const unsigned period_us : kPeriodsUs) {
        const Result window = measure(provider, false, size, period_us);
        const Result slots = measure(provider, true, size, period_us);
        std::printf("%-8s %8zu %10u | %12.1f %9.1f %5d | %12.1f %9.1f %5d %9.1f\n", provider, size, period_us,
                    window.mean_us, window.reads, kSnapshots - window.taken, slots.mean_us, slots.reads,
                    kSnapshots - slots.taken, slots.age_us);
        std::fflush(stdout);
      }
    }
  }
  return 0;
}
