// A terminal as exs-top uses it: a screen of its own that is drawn again each second, and keys. Thread: the owner's.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <termios.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace top {

struct ScreenSize {
  std::size_t columns = 0, lines = 0;
};

class Screen {
 public:
  // Standard input and output are a terminal.
  static bool is_there();
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Calls `look` each second, and draws what `show` returns then and after each key, until `press` returns false for a key, or until
  // SIGINT or SIGTERM.
  void run(const std::function<void()>& look, const std::function<std::vector<std::string>(ScreenSize)>& show,
           const std::function<bool(char)>& press);

 private:
  void take_over();
  // Returns false after a signal that ends the program.
  bool take_signal();
  static void draw(const std::vector<std::string>& lines);

  termios before_{};
  exs::UniqueFd signals_;
};

}  // namespace top
