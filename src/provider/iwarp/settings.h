// The settings of the iwarp provider, from the environment or from a test.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "src/provider/iwarp/fpdu.h"
#include "src/provider/provider.h"

namespace exs::iwarp {

enum class BackendChoice : std::uint8_t { kAutomatic, kEpoll, kUring, kUnknown };

// Thread: immutable value.
struct Settings {
  bool want_crc = false;
  BackendChoice backend = BackendChoice::kAutomatic;
  bool announce_exs = true;                 // off: shake hands as a foreign iWARP peer would
  std::uint32_t payload_max = kPayloadMax;  // upper bound of one FPDU's payload
  bool nudge = true;                        // foreign responders that stay silent
};

BackendChoice backend_named(std::string_view name);  // as EXS_IWARP_BACKEND has it; empty: automatic
Settings settings_from_environment();
std::unique_ptr<Provider> make_iwarp_provider(const Settings& settings);

}  // namespace exs::iwarp
