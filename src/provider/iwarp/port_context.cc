// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/port_context.h"

#include <algorithm>

#include "base/room.h"

namespace exs::iwarp {
namespace {

// About a millisecond of spinning.
constexpr std::uint32_t kSilenceMax = 2048;

}  // namespace

void HotLinks::touch(IwarpLink* link) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (links_[i] == link) {
      silence_[i] = 0;
      return;
    }
  }
  std::size_t slot = count_;
  if (count_ < kMax) {
    ++count_;
  } else {
    const auto quietest = std::max_element(silence_.begin(), silence_.end());
    slot = static_cast<std::size_t>(quietest - silence_.begin());
  }
  links_[slot] = link;
  silence_[slot] = 0;
}

void HotLinks::forget(const IwarpLink* link) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (links_[i] != link) continue;
    --count_;
    links_[i] = links_[count_];
    silence_[i] = silence_[count_];
    return;
  }
}

void HotLinks::cool(IwarpLink* link) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (links_[i] == link && ++silence_[i] > kSilenceMax) {
      forget(link);
      return;
    }
  }
}

void PortContext::make_room_for_link() {
  for (std::vector<IwarpLink*>* list : {&to_flush, &held_back, &to_send, &to_receive, &working, &again})
    make_room(*list, std::max(links_ + 1, HotLinks::kMax));
  ++links_;
}

void PortContext::forget(const IwarpLink* link) noexcept {
  hot.forget(link);
  std::erase(to_flush, link);
  std::erase(held_back, link);
  std::erase(to_send, link);
  std::erase(to_receive, link);
}

}  // namespace exs::iwarp
