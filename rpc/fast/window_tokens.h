// The tokens by which a window's connection tells whose it is: given to a client that asks, and good once. Thread: any.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace exs::rpc {

class Binding;

class WindowTokens {
 public:
  // A new one that nobody can guess. 0: there is none to be had. Throws std::bad_alloc.
  std::uint64_t give(std::weak_ptr<Binding> binding);
  // Null: of nobody, or of one that has ended.
  std::shared_ptr<Binding> take(std::uint64_t token);
  void drop(std::uint64_t token);

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::weak_ptr<Binding>> bindings_;
};

}  // namespace exs::rpc
