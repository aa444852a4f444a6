// Memory of one request, freed all at once. allocate() returns zeroed memory. Thread: one at a time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace exs::rpc {

class RequestArena {
 public:
  // Returns NULL if memory ran out.
  [[nodiscard]] void* allocate(std::size_t bytes);
  // Frees everything, and keeps some of the memory for the next request.
  void reset();

 private:
  struct ArenaBlock {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes = 0;
  };
  bool add_block(std::size_t bytes);

  std::vector<ArenaBlock> blocks_;
  std::size_t used_ = 0;  // in the last block
};

}  // namespace exs::rpc
