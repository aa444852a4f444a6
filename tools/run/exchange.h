// The processes of a job publish a card each, and get those of all when the last one has come. A process that has ended, or has
// left, has an empty card. Then it may begin anew.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace run {

class Exchange {
 public:
  explicit Exchange(std::size_t size) : cards_(size), is_awaited_(size, true) {}

  // False: it has one already.
  bool put(std::size_t rank, const std::string& card);
  // This one will put none any more.
  void leave_out(std::size_t rank) { is_awaited_[rank] = false; }
  // The lines for all, once.
  std::optional<std::string> take_complete();

 private:
  [[nodiscard]] bool is_complete() const;

  std::vector<std::optional<std::string>> cards_;
  std::vector<bool> is_awaited_;
};

}  // namespace run
