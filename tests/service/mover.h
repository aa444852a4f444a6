// What a service that moves writes of itself: a request that it has executed, and how many it had executed by then, wherever it was;
// or what has become of it.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace exs::svc::test {

struct Entry {
  std::uint32_t number = 0;  // of a request, or one of Happened
  std::uint32_t value = 0;
};

enum class Happened : std::uint32_t {
  kOpened = 0xffffff00,
  kRefused,  // the name is somebody else's
  kAdopted,  // value: requests executed before
  kMoved,
  kWaiting,  // to adopt it
  kStayed,   // value: why
  kUnknown   // it may have been used elsewhere, and has been opened again
};
constexpr std::uint32_t kFirstHappened = 0xffffff00;

}  // namespace exs::svc::test
