// Initiators without a message from their responder yet, and the times to nudge it.
//
// The kernel's siw, as a responder, can miss what arrives between its MPA reply and the moment it hands the
// socket over: the bytes wait, acknowledged, until more come. A zero-length RDMA WRITE is such more, and
// means nothing to any peer. Peers that are exs need none.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "src/provider/provider.h"

namespace exs::iwarp {

// A link, as far as it is nudged.
class Nudged {
 public:
  virtual ~Nudged() = default;
  // Something has come from the peer since the set-up.
  [[nodiscard]] virtual bool has_heard_peer() const noexcept = 0;
  virtual void nudge() = 0;
};

// Looks at each link some times in the first second after the reply, with growing pauses, then never again.
// While no link is that young it costs one comparison a turn. Thread: shard.
class Nudges {
 public:
  // The reply of a responder that is not exs has arrived.
  void expect_first_word(Nudged* link, std::uint64_t now_ns);
  void forget(const Nudged* link) noexcept;

  void nudge_due(std::uint64_t now_ns) {
    if (due_ns_ <= now_ns) look_at_links(now_ns);
  }
  // kNoDeadline: no link is waited for.
  [[nodiscard]] std::uint64_t next_deadline_ns() const noexcept { return due_ns_; }

 private:
  struct NudgeTime {
    Nudged* link = nullptr;
    std::uint64_t due_ns = 0;
    std::uint64_t pause_ns = 0;  // before `due_ns`
  };

  void look_at_links(std::uint64_t now_ns);
  void find_due() noexcept;

  std::vector<NudgeTime> entries_;
  std::uint64_t due_ns_ = kNoDeadline;  // the earliest of the entries
};

}  // namespace exs::iwarp
