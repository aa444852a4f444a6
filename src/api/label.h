// The name that a program gives to connections, for exs-top. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/refusal.h"
#include "exs/exs.h"

namespace exs {

// EINVAL: it is too long, or a terminal cannot show it.
inline Status check_label(std::string_view label) {
  const auto is_printable = [](char letter) { return letter >= ' ' && letter <= '~'; };
  if (label.size() <= EXS_LABEL_MAX && std::all_of(label.begin(), label.end(), is_printable)) return Status();
  return refuse(EINVAL, "a label of {} bytes: give at most {} printable ASCII characters", label.size(),
                EXS_LABEL_MAX);
}

}  // namespace exs
