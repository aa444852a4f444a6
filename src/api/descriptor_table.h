// exs descriptors by number. The number is that of a kernel descriptor which the socket holds, so it is ours
// alone while the socket, or an event that names it, exists.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/api/socket.h"
#include "src/base/drive_lock.h"

namespace exs {

// Thread: any. find() takes one uncontended lock of its own slot and no lock of the table.
class DescriptorTable {
 public:
  static constexpr int kNumbersMax = 1 << 20;

  ~DescriptorTable();
  // EMFILE: the number is beyond the table.
  Status insert(const std::shared_ptr<Socket>& socket);
  [[nodiscard]] std::shared_ptr<Socket> find(int number);
  // Whoever gets the socket back removed it; everybody else gets nullptr.
  std::shared_ptr<Socket> remove(int number);
  [[nodiscard]] std::vector<std::shared_ptr<Socket>> all();

 private:
  static constexpr int kChunkSlots = 1024;
  struct Slot {
    Mutex mutex;
    std::shared_ptr<Socket> socket EXS_GUARDED_BY(mutex);
  };
  using Chunk = std::array<Slot, kChunkSlots>;
  Slot* slot(int number);

  std::array<std::atomic<Chunk*>, kNumbersMax / kChunkSlots> chunks_{};  // published once, by insert()
};

}  // namespace exs
