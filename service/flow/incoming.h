// How far a service has taken the messages of a flow. Thread: one at a time.
#pragma once

#include <cstdint>

namespace exs::svc {

class Incoming {
 public:
  enum class Place { kNext, kTakenBefore, kBeyond };

  [[nodiscard]] Place place_of(std::uint64_t number) const noexcept {
    if (number == accepted_ + 1) return Place::kNext;
    return number <= accepted_ ? Place::kTakenBefore : Place::kBeyond;
  }
  void take() noexcept { ++accepted_; }
  [[nodiscard]] std::uint64_t accepted() const noexcept { return accepted_; }

  // What the sender has not been told of.
  [[nodiscard]] bool owes_ack() const noexcept { return told_ != accepted_; }
  void tell() noexcept { told_ = accepted_; }

 private:
  std::uint64_t accepted_ = 0;
  std::uint64_t told_ = 0;
};

}  // namespace exs::svc
