// EXS_LOG=debug: what is done to find a service, and to reach it, a line for each step, to standard error: at once or not at all.
// Thread: any.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "service/names/id.h"

namespace exs::svc {

// For whoever would make up words only to throw them away.
[[nodiscard]] bool are_lookups_told() noexcept;
void tell_lookup(const std::string& line) noexcept;

// The lines about one service, or one directory: who tries again and again says each of them once.
class LookupLog {
 public:
  // `words` are made up only if somebody wants them.
  template <typename Words>
  void say(const std::string& about, Words&& words) {
    if (!are_lookups_told()) return;
    const auto [line, is_new] = said_.insert(about + ": " + std::forward<Words>(words)());
    if (is_new) tell_lookup(*line);
  }
  template <typename Words>
  void say(const IdBytes& about, Words&& words) {
    if (are_lookups_told()) say(text_of(about), std::forward<Words>(words));
  }
  // From now on they are news again.
  void forget() noexcept { said_.clear(); }

 private:
  std::set<std::string> said_;
};

}  // namespace exs::svc
