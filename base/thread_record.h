// What a thread tells about itself with plain stores, for other threads to look at when they must: that it is in a read section
// (read_section.h), and inside of locks that it owns (bias.h). One cache line a thread.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace exs {

// Never destroyed: a lock may refer to it after its thread has ended. A later thread takes it over then, with all that it owns.
struct alignas(64) ThreadRecord {
  static constexpr std::size_t kPlaces = 8;

  std::atomic<std::uint64_t> turns{0};                       // odd: in a read section
  std::array<std::atomic<std::uint32_t>, kPlaces> inside{};  // odd: inside of the lock that has this place
  std::atomic<std::uint32_t> given{0};                       // the places that locks have, a bit set

  [[nodiscard]] bool has(const std::atomic<std::uint32_t>* place) const noexcept {
    return reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(inside.data()) <
           sizeof inside;
  }
  // Null: the calling thread has none yet.
  [[nodiscard]] static ThreadRecord* mine() noexcept { return mine_; }
  // Gives the calling thread a record, until its end. std::bad_alloc.
  static ThreadRecord& enroll();
  // Calls `visit(record)` for each thread that lives, one call of this function at a time.
  template <typename Visit>
  static void for_each(const Visit& visit) {
    each([](const ThreadRecord& record, const void* body) { (*static_cast<const Visit*>(body))(record); },
         &visit);
  }
  // Call it in the only thread of a child after fork.
  static void forget_other_threads();

 private:
  friend class ThreadList;
  static void each(void (*call)(const ThreadRecord&, const void*), const void* body);

  // The library is loaded with the program or soon after it, so the fast way to reach it may be used.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local ThreadRecord* mine_;
};

}  // namespace exs
