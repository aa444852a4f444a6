// Memory of one request, freed all at once. take() returns zeroed memory. Thread: one at a time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace exs::rpc {

class Arena {
 public:
  // Returns NULL if memory ran out.
  void* take(std::size_t bytes);
  // Frees everything, and keeps some of the memory for the next request.
  void reset();

 private:
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes = 0;
  };
  std::vector<Block> blocks_;
  std::size_t used_ = 0;  // in the last block
};

}  // namespace exs::rpc
