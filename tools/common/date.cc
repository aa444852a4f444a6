// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/date.h"

#include <array>

namespace tools {

std::string date_of(std::time_t seconds) {
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace tools
