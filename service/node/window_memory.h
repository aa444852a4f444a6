// Memory for long items: windows that the program has given, and allocated ones if none of these fits. Thread: any.
//
// Design notes
//  1. A message has its windows until its release, and a transfer into them until exs releases the memory; the last of the two returns
//     them.
//  2. Lists have room for all windows from the start, so returning one cannot fail.
//  3. Allocated memory is kept for the next message of about that size: new memory costs a page fault for each page.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/drive_lock.h"
#include "exs/exs.h"

namespace exs::svc {

struct Window {
  std::uint8_t* start = nullptr;
  std::size_t bytes = 0;
  exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED;
  bool is_of_program = false;
};

class WindowMemory;

// The allocated bytes of one principal, and their limit. NULL: nobody counts.
struct WindowQuota {
  std::shared_ptr<std::atomic<std::size_t>> bytes;
  std::size_t most_bytes = 0;
};

// The windows of a message, one for each long item.
class Windows {
 public:
  Windows(std::shared_ptr<WindowMemory> memory, WindowQuota quota)
      : memory_(std::move(memory)), quota_(std::move(quota)) {}
  ~Windows();
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;
  std::vector<Window> list;

 private:
  std::shared_ptr<WindowMemory> memory_;
  WindowQuota quota_;
};

class WindowMemory : public std::enable_shared_from_this<WindowMemory> {
 public:
  // `most_bytes` limits the memory that is allocated at a time.
  explicit WindowMemory(std::size_t most_bytes);
  ~WindowMemory();
  WindowMemory(const WindowMemory&) = delete;
  WindowMemory& operator=(const WindowMemory&) = delete;

  void add(const Window& window);
  // Takes one window for each length, the smallest that fits. Returns NULL if there is no room.
  std::shared_ptr<Windows> take(std::span<const std::uint64_t> lengths, const WindowQuota& quota = {});
  void give_back(const std::vector<Window>& windows) noexcept;
  // Counts the program's free windows.
  [[nodiscard]] std::size_t free_windows();
  // The program's windows are not used from now on.
  void withdraw();

 private:
  bool take_one(std::uint64_t length, const WindowQuota& quota, Window& window) EXS_REQUIRES(lock_);
  void put(const Window& window) noexcept EXS_REQUIRES(lock_) {
    (window.is_of_program ? of_program_ : allocated_).push_back(window);
  }
  bool allocate(std::size_t bytes, Window& window) EXS_REQUIRES(lock_);
  bool free_largest() EXS_REQUIRES(lock_);

  const std::size_t most_bytes_;
  const bool has_library_;
  Mutex lock_;
  bool is_withdrawn_ EXS_GUARDED_BY(lock_) = false;
  std::size_t allocated_bytes_ EXS_GUARDED_BY(lock_) = 0;
  std::vector<Window> of_program_ EXS_GUARDED_BY(lock_);  // free windows of the program
  std::vector<Window> allocated_ EXS_GUARDED_BY(lock_);   // free allocated ones
  std::size_t of_program_count_ EXS_GUARDED_BY(lock_) = 0;
  std::size_t allocated_count_ EXS_GUARDED_BY(lock_) = 0;
};

}  // namespace exs::svc
