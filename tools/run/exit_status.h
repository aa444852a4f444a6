// Exit statuses of a job's processes, as in shells.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace run {

inline constexpr int kFailed = 1;
inline constexpr int kCannotExecute = 126;
inline constexpr int kNotFound = 127;

}  // namespace run
