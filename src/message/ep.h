// The object behind an exm_ep_t.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "event/message/descriptor_watch.h"
#include "event/message/endpoint.h"
#include "exs/msg.h"
#include "src/api/api_call.h"
#include "src/boot/boot.h"

struct exm_ep {
  std::shared_ptr<exs::Endpoint> endpoint;
  std::shared_ptr<exs::boot::Boot> boot;           // null: no launcher
  std::shared_ptr<exs::DescriptorWatch> launcher;  // notified by the launcher
  std::atomic<std::uint64_t> group_rounds{0};      // of proposals for the contexts of groups
};

namespace exs {

// Runs body(endpoint) -> Result<int>, as api_call() does.
template <typename Body>
int message_call(exm_ep_t ep, Body&& body, const char* function = __builtin_FUNCTION()) noexcept {
  return api_call(
      [&](Library&) -> Result<int> {
        if (ep == nullptr) return failure(null_argument());
        return std::forward<Body>(body)(*ep->endpoint);
      },
      function);
}

}  // namespace exs
