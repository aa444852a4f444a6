// exs descriptors by number. The number is that of a kernel descriptor which the socket holds, so it is ours
// alone while the socket, or an event that names it, exists.
//
// A kernel stream socket that is asked for is adopted. Its number is the application's and may come to mean
// another socket, so every look asks the kernel (0.2 us); the sockets of exs_socket do without. Not adopted
// is what is or was exs's own (OwnSockets): a connection that is being set up, a number that waiting events
// hold after exs_close, and in a child after fork the sockets of its parent.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/api/socket.h"
#include "src/base/drive_lock.h"
#include "src/provider/own_sockets.h"

namespace exs {

class Library;

// Thread: any. find() takes one uncontended lock of its own slot and no lock of the table, peek() none.
class DescriptorTable {
 public:
  static constexpr int kNumbersMax = OwnSockets::kNumbersMax;

  explicit DescriptorTable(Library& library) : library_(library) {}
  ~DescriptorTable();
  DescriptorTable(const DescriptorTable&) = delete;
  DescriptorTable& operator=(const DescriptorTable&) = delete;
  // EMFILE: the number is beyond the table.
  Status insert(const std::shared_ptr<Socket>& socket);
  [[nodiscard]] std::shared_ptr<Socket> find(int number);
  // In a ReadSection: the socket lives until its end. Null: ask find(); so for all that are adopted.
  [[nodiscard]] Socket* peek(int number) const;
  // To be closed. Whoever gets the socket back removed it; everybody else gets nullptr. In no ReadSection.
  std::shared_ptr<Socket> remove(int number);
  // At the end of the library: true for who removed it. Adopted sockets stay open.
  bool release(const std::shared_ptr<Socket>& socket);
  [[nodiscard]] std::vector<std::shared_ptr<Socket>> all();

 private:
  static constexpr int kChunkSlots = 1024;
  struct Slot {
    LeafLock mutex;
    std::atomic<Socket*> own{nullptr};  // socket, if it is exs's; written under the lock
    std::shared_ptr<Socket> socket EXS_GUARDED_BY(mutex);
  };
  using Chunk = std::array<Slot, kChunkSlots>;
  Slot* slot(int number) const;
  Slot* make_slot(int number);
  std::shared_ptr<Socket> look_up(int number);
  std::shared_ptr<Socket> find_adopted(int number, std::shared_ptr<Socket> known);
  // False: another thread took it.
  bool take(const Socket& socket, bool to_close);
  bool take_out(const Socket& socket, bool to_close);

  Library& library_;
  std::array<std::atomic<Chunk*>, kNumbersMax / kChunkSlots> chunks_{};  // published once, by insert()
};

}  // namespace exs
