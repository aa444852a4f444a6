// The greeting (rpc/FORMAT.md). HELLO has program and version; the table of the client's procedures follows. WELCOME has the server's
// limits; its verdict on each procedure follows.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "exs/rpc.h"
#include "rpc/channel/frame.h"

namespace exs::rpc {

struct ProgramHello {
  // The last byte is the version of the format.
  std::array<char, 8> magic{'e', 'x', 's', '-', 'r', 'p', 'c', '\1'};
  std::uint32_t program = 0;
  std::uint32_t version = 0;
};
static_assert(sizeof(ProgramHello) == kTokenBytes);

// The first message of a window's connection.
struct WindowHello {
  std::array<char, 8> magic{'e', 'x', 's', '-', 'r', 'p', 'c', 'w'};
  std::uint64_t token = 0;
};
static_assert(sizeof(WindowHello) == kTokenBytes);

struct ServerWelcome {
  enum class Reason : std::uint32_t { kNone = 0, kNoProgram = 1, kNoVersion = 2, kFull = 3 };
  Reason reason = Reason::kNone;
  std::uint32_t slots = 0;
  std::uint32_t longest = 0;  // limit of a message to the server
  std::uint32_t reserved = 0;
};
static_assert(sizeof(ServerWelcome) == kTokenBytes);

// One procedure in a table.
struct TableEntry {
  std::uint32_t number;
  std::uint32_t reserved;
  std::uint64_t hash;
};
inline constexpr std::size_t kProceduresMax = 4096;

enum class ProcedureVerdict : std::uint8_t { kCallable = 0, kAbsent = 1, kOtherTypes = 2 };

template <typename Words>
std::span<const std::byte> bytes_of(const Words& words) {
  return std::as_bytes(std::span(&words, 1));
}
// Returns false if there are not enough bytes.
template <typename Words>
[[nodiscard]] bool read_words(std::span<const std::byte> bytes, Words& words) {
  if (bytes.size() != sizeof words) return false;
  std::memcpy(&words, bytes.data(), sizeof words);
  return true;
}

[[nodiscard]] bool is_hello(std::span<const std::byte> bytes, ProgramHello& hello);
[[nodiscard]] bool is_window_hello(std::span<const std::byte> bytes, WindowHello& hello);
std::vector<TableEntry> table_of(const exs_rpc_interface_t& interface);
// The places of a client's procedures among those of the server, and a verdict for each.
struct TableMatch {
  std::vector<ProcedureVerdict> verdicts;
  std::vector<std::uint16_t> places;
};
// Returns false if the bytes are no table.
[[nodiscard]] bool match(std::span<const std::byte> table, const exs_rpc_interface_t& interface,
                         TableMatch& matched);

}  // namespace exs::rpc
