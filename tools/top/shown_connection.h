// A connection as exs-top shows it: one of a statistics page, or a lane of the sockets layer. Thread: the owner's.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "base/stats_page.h"
#include "tools/lanes/family.h"
#include "tools/lanes/why.h"

namespace top {

// The text of another process, made fit for a terminal.
template <std::size_t size>
std::string printable(const char (&text)[size]) {
  std::string words(text, ::strnlen(text, size));
  for (char& letter : words) {
    if (std::isprint(static_cast<unsigned char>(letter)) == 0) letter = '?';
  }
  return words;
}

// What the sockets layer knows besides.
struct ShownLane {
  lanes::SlotFacts slot;
  lanes::Explanation why;  // its sends are not in shared memory
};

// At one moment. The texts are made when they are asked for, for there may be thousands of connections.
struct ShownConnection {
  std::uint64_t place = 0;  // of the record, or that of the socket: none other of the process has it now
  exs::stats::ConnectionRecord record;
  std::shared_ptr<const ShownLane> lane = {};  // null: the connection is one of a page

  [[nodiscard]] std::string carrier() const;  // empty: not connected yet
  [[nodiscard]] std::string label() const;    // EXS_SO_LABEL
  [[nodiscard]] std::string kind() const;     // the label, or how its socket was made
  [[nodiscard]] std::string ours() const;     // an address
  [[nodiscard]] std::string peer() const;     // likewise
  [[nodiscard]] std::string refused() const;  // the faster way that does not carry it, if one exists
  [[nodiscard]] std::string fact() const;     // about that
  // "other-user"
  [[nodiscard]] std::string reason() const;
  [[nodiscard]] std::string cure() const;
};

}  // namespace top
