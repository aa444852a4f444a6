// SPDX-License-Identifier: BSD-2-Clause
#include "src/boot/boot.h"

namespace exs::boot {

bool is_card(const std::string& text) noexcept {
  return text.size() <= kCardBytesMax && text.find('\n') == std::string::npos;
}

}  // namespace exs::boot
