// EXS_LOG=debug: a line for each step of finding and reaching a service. A line goes to standard error at once or not at all. Thread:
// any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <set>
#include <string>
#include <utility>

#include "base/contain.h"
#include "service/names/id.h"

namespace exs::svc {

// Saves callers the cost of composing lines that are thrown away.
[[nodiscard]] bool are_lookups_logged() noexcept;
void log_lookup(const std::string& line) noexcept;

// The lines about one service or directory. A step that repeats is logged once.
class LookupLog {
 public:
  // `words` runs only if lines are logged.
  template <typename Words>
  void say(const std::string& about, Words&& words) {
    if (!are_lookups_logged()) return;
    contain(
        [&] {
          const auto [line, is_new] = said_.insert(about + ": " + std::forward<Words>(words)());
          if (is_new) log_lookup(*line);
        },
        [] {});
  }
  template <typename Words>
  void say(const IdBytes& about, Words&& words) {
    if (are_lookups_logged()) say(text_of(about), std::forward<Words>(words));
  }
  // Logs the same steps again from now on.
  void forget() noexcept { said_.clear(); }

 private:
  std::set<std::string> said_;
};

}  // namespace exs::svc
