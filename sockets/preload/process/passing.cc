// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/process/passing.h"

#include <cstring>

#include "sockets/preload/detach/detach.h"
#include "sockets/preload/kernel/reach.h"
#include "sockets/preload/process/numbers.h"

namespace exs::sockets {
namespace {

template <typename Use>
void each_number(const msghdr& message, const Use& use) noexcept {
  auto& header = const_cast<msghdr&>(message);
  constexpr std::size_t kBytesMax = std::size_t{1} << 20;  // more than the kernel takes
  if (header.msg_controllen > kBytesMax || !is_there(header.msg_control, header.msg_controllen)) return;
  const auto* const end = static_cast<const unsigned char*>(header.msg_control) + header.msg_controllen;
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr;
       control = CMSG_NXTHDR(&header, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS ||
        control->cmsg_len < CMSG_LEN(0) ||
        control->cmsg_len > static_cast<std::size_t>(end - reinterpret_cast<const unsigned char*>(control)))
      continue;
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(control) + i * sizeof number, sizeof number);
      use(number);
    }
  }
}

}  // namespace

void detach_passed_numbers(const msghdr& message) noexcept {
  each_number(message, [](int number) { detach(number, Why::kPinnedPassed); });
}
void forget_passed_numbers(const msghdr& message) noexcept {
  each_number(message, [](int number) { forget_number(number); });
}

}  // namespace exs::sockets
