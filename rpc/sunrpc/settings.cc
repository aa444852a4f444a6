// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/sunrpc/settings.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/kernel.h"

namespace exs::rpc {
namespace {

void refuse(const char* variable, std::string_view value, const char* cure) {
  char line[256];
  const int length = std::snprintf(line, sizeof line, "exs-sunrpc: %s=%.*s is ignored: %s\n", variable,
                                   static_cast<int>(value.substr(0, 64).size()), value.data(), cure);
  kernel::write_at_once(STDERR_FILENO, line, static_cast<std::size_t>(length));
}

// Returns an empty text for a variable that is unset or empty.
std::string_view setting(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? std::string_view() : text;
}

template <typename Number>
void read_number(const char* variable, Number& number) {
  const std::string_view value = setting(variable);
  if (value.empty()) return;
  Number read = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), read);
  if (error == std::errc{} && end == value.data() + value.size()) {
    number = read;
  } else {
    refuse(variable, value, "it is to be a number");
  }
}

SunRpcSettings read_settings() {
  SunRpcSettings settings;
  read_number("EXS_SUNRPC_AFTER", settings.after);
  read_number("EXS_SUNRPC_PORT", settings.port);
  const std::string_view use = setting("EXS_SUNRPC");
  if (use == "off") {
    settings.use = LinkUse::kOff;
  } else if (use == "require") {
    settings.use = LinkUse::kRequire;
  } else if (!use.empty() && use != "auto") {
    refuse("EXS_SUNRPC", use, "it is to be off, auto or require");
  }
  const std::string_view chosen = setting("EXS_SUNRPC_VARIANT");
  settings.is_reduced = chosen == "reduced";
  if (!chosen.empty() && chosen != "reduced" && chosen != "optimized")
    refuse("EXS_SUNRPC_VARIANT", chosen, "it is to be reduced or optimized");
  return settings;
}

}  // namespace

const SunRpcSettings& settings() {
  static const SunRpcSettings read = read_settings();
  return read;
}

}  // namespace exs::rpc
