// Growing memory of exs for the body of an answer.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <exs/exs.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

namespace fetch {

class Body {
 public:
  Body() = default;
  ~Body() { exs_free(memory_); }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  void clear() { length_ = 0; }
  // Returns room for `more` bytes behind the content; grow() then takes what arrived. Throws Failure if memory runs out.
  std::span<char> room(std::size_t more);
  void grow(std::size_t more) { length_ += more; }
  void append(std::string_view text) {
    if (text.empty()) return;
    std::memcpy(room(text.size()).data(), text.data(), text.size());
    grow(text.size());
  }

  [[nodiscard]] std::string_view text() const { return {memory_, length_}; }
  [[nodiscard]] exs_mhandle_t region() const { return region_; }

 private:
  char* memory_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t length_ = 0;
  exs_mhandle_t region_ = EXS_MHANDLE_UNREGISTERED;
};

}  // namespace fetch
