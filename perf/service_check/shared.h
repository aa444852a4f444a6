// The memory that the processes of the check share. It outlives any of them that is killed.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tools/common/failure.h"

namespace service_check {

using Number = std::uint32_t;

// Each client sends one kind.
enum Kind : std::uint32_t { kMessages, kLongs, kRequests, kIdempotent };
inline constexpr std::size_t kKinds = 4;
inline constexpr std::array<const char*, kKinds> kNames{"messages", "long messages", "requests",
                                                        "idempotent requests"};
inline constexpr bool is_answered(Kind kind) {
  return kind == kRequests || kind == kIdempotent;
}

// Memory for one T of zeros, shared with the children of this process. Untouched pages cost nothing.
template <typename T>
class Shared {
 public:
  Shared() : memory_(map()) {}
  T* operator->() const { return memory_.get(); }
  T& operator*() const { return *memory_; }

 private:
  struct Unmap {
    void operator()(T* memory) const { ::munmap(memory, sizeof(T)); }
  };
  static T* map() {
    void* const memory =
        ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) tools::fail("no memory that processes share", errno);
    return static_cast<T*>(memory);
  }
  std::unique_ptr<T, Unmap> memory_;
};

// The entries that one life of the service has executed, in order. Only the life writes.
struct Ledger {
  struct Entry {
    Kind kind;
    Number number;
  };
  static constexpr std::size_t kMost = std::size_t{1} << 23;
  std::atomic<std::size_t> count;
  std::array<Entry, kMost> entries;

  // Returns false if there is no room.
  bool append(Entry entry) {
    const std::size_t at = count.load(std::memory_order_relaxed);
    if (at == kMost) return false;
    entries[at] = entry;
    count.store(at + 1, std::memory_order_release);
    return true;
  }
};

// The fate of a client's messages. Only the client writes.
enum class Fate : std::uint8_t { kNone, kUnderWay, kDone, kUnknown };
struct Account {
  static constexpr std::size_t kMost = std::size_t{1} << 26;
  std::atomic<Number> sent;
  std::atomic<std::uint64_t> told;  // of messages: how many of them have an unknown fate, by their events
  std::atomic<int> reached;         // the last phase that the client has completed
  std::array<Fate, kMost> fates;
};

// The referee's instructions to all, and the measured times.
struct Board {
  // Even: clients send. Odd: they wait until everything they have sent has ended. kOver: they end.
  static constexpr int kOver = 1 << 30;
  std::atomic<int> phase;
  std::atomic<std::uint32_t> life;      // of the service: 1, 2, ...
  std::atomic<std::uint64_t> opens_ns;  // when it called exs_svc_open()
  // When each client got the first reply of this life, or this life its first message.
  std::array<std::atomic<std::uint64_t>, kKinds> first_ns;
  std::array<Account, kKinds> accounts;

  // Counts only once, and only for the current life.
  void note_first(Kind kind, std::uint32_t of_life, std::uint64_t now_ns) {
    std::uint64_t none = 0;
    if (life == of_life) first_ns[kind].compare_exchange_strong(none, now_ns);
  }
};

// A fault that the check has to detect.
enum class Sabotage : std::uint32_t { kNone, kTwice, kUnwritten, kOrder, kSilent, kSlow, kDescriptor, kName };

}  // namespace service_check
