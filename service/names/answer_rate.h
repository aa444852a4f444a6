// Limits the answers sent: 20 a second to one address, 1,000 to all. Memory does not grow with the number of senders. Thread: one at a
// time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "service/names/address.h"

namespace exs::svc {

class AnswerRate {
 public:
  static constexpr std::uint64_t kSecondNs = 1000 * kNsPerMs;
  static constexpr std::uint64_t kOneNs = kSecondNs / 20;
  static constexpr std::uint64_t kOneOfAllNs = kSecondNs / 1000;
  static constexpr std::size_t kSourcesMax = 1024;

  // Returns true if one more answer may go there now, and counts it.
  bool allows(const sockaddr_storage& to, std::uint64_t now) {
    if (!has_room(all_, kOneOfAllNs, now)) return false;
    const HostBytes source = host_of(to);
    auto known = sources_.find(source);
    if (known == sources_.end()) {
      if (sources_.size() == kSourcesMax)
        std::erase_if(sources_, [now](const auto& one) { return one.second <= now; });
      if (sources_.size() == kSourcesMax) return false;
      known = sources_.emplace(source, now).first;
    }
    if (!has_room(known->second, kOneNs, now)) return false;
    known->second = std::max(known->second, now) + kOneNs;
    all_ = std::max(all_, now) + kOneOfAllNs;
    return true;
  }
  [[nodiscard]] std::size_t sources() const noexcept { return sources_.size(); }

 private:
  // `paid_until` is when all answers so far would have left at an even pace. It may be ahead of now by one second's worth.
  static bool has_room(std::uint64_t paid_until, std::uint64_t one_ns, std::uint64_t now) {
    return time_left(paid_until, now) <= kSecondNs - one_ns;
  }

  std::map<HostBytes, std::uint64_t> sources_;
  std::uint64_t all_ = 0;
};

}  // namespace exs::svc
