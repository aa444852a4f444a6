// Memory of one request, given back all at once. Zero when it is taken. Thread: one at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace exs::rpc {

class Arena {
 public:
  // Null: there is no memory.
  void* take(std::size_t bytes);
  // Keeps some of it for the next request.
  void reset();

 private:
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes = 0;
  };
  std::vector<Block> blocks_;
  std::size_t used_ = 0;  // of the last block
};

}  // namespace exs::rpc
