// A script is a list of steps. A step has an action, a process, a connection, and three random numbers for
// the rest. The run decides their meaning by the state of the world. So a step means something, or nothing,
// whatever earlier steps are dropped.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace twin {

enum class Kind : std::uint8_t {
  connect,
  accept,
  warm_up,
  send,
  more,
  recv,
  peek,
  transfer,
  fill,
  poll,
  close,
  shutdown,
  linger,
  nonblock,
  inquire,
  option,
  cork,
  names,
  bad,
  blocked,
  timeout,
  dup,
  fork,
  spawn,
  exec,
  pass,
  leave,
  kill,
  urgent_send,
  urgent_recv,
  urgent_inline,
  epoll_create,
  epoll_ctl,
  epoll_wait,
  sendfile,
  splice_in,
  splice_out,
  stdio_write,
  stdio_read,
  count,
};

struct Step {
  Kind kind = Kind::send;
  std::uint8_t process = 0;
  std::uint8_t connection = 0;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
};

using Script = std::vector<Step>;
using Weights = std::array<std::uint32_t, static_cast<std::size_t>(Kind::count)>;

std::string_view name_of(Kind kind);
std::optional<Kind> kind_of(std::string_view name);
Weights default_weights();
Step random_step(std::mt19937_64& random, const Weights& weights);

// Converts between a script and text such as "send.A.0.17.4.9 recv.B2.1.3.5.8". nullopt: the text is no
// script.
std::string text_of(const Script& script);
std::optional<Script> script_of(const std::string& text);

}  // namespace twin
