// The command line of exs-msg-ping.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace msg_ping {

struct Settings {
  std::string provider = "auto";
  std::vector<std::uint64_t> sizes;
  std::uint32_t messages = 10'000;
  std::uint32_t warmup = 1'000;
  std::uint32_t window = 0;      // 0: there and back
  std::uint32_t compute_us = 0;  // 0: no computation
  bool is_self = false;
  bool one_buffer = false;
  bool verify = false;
  bool json = false;
  bool pin = true;
};

// Throws tools::Exit and tools::UsageError.
Settings parse(int argc, const char* const* argv);

}  // namespace msg_ping
