// The environment's settings of the sockets layer. Code inside foreign programs uses them: no allocation, no
// exceptions.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace exs::sockets {

// The users with whom connections may share memory: "same" user, "any", or ids.
// Thread: immutable value.
struct AllowedUsers {
  static constexpr std::size_t kIdsMax = 16;
  bool same = true;
  bool any = false;
  std::uint32_t count = 0;
  uid_t ids[kIdsMax] = {};

  [[nodiscard]] bool allow(uid_t peer, uid_t ours) const noexcept;
};

// Thread: immutable value.
struct SocketsSettings {
  bool on = true;
  bool explain = false;
  bool spin_auto = true;
  std::uint32_t spin_us = 0;     // valid unless spin_auto
  bool kernel_waits = false;     // every wait sleeps in the kernel, and only bells announce bytes
  std::uint32_t ring_bytes = 0;  // of each direction; 0: chosen for each connection
  std::uint32_t after = 4;       // calls on a connection before it looks for its peer
  std::uint32_t after_bytes = 64 * 1024;
  bool local = true;  // peers on this host share memory; else they meet like peers of other hosts
  enum class Between : std::uint8_t { kAuto, kOn, kOff };  // kAuto: if an agent runs on this host
  Between between = Between::kAuto;
  std::uint32_t agent_port = 7429;
  bool any_path = false;         // tests: the lane between hosts may use TCP where there is no RDMA device
  std::uint32_t turn_every = 0;  // tests: the sender leaves the ring after so many bytes; 0: when it is full
  AllowedUsers users;
};

// Parses the text of EXS_SOCKETS: "off", "on", or "key=value,...". Unknown words are skipped. The first one
// goes to `complaint`, which otherwise stays as it was.
void take_words(std::string_view text, SocketsSettings& settings, std::string_view& complaint) noexcept;
// Parses the text of EXS_SHM_USERS. It replaces the earlier users unless it is empty.
void take_users(std::string_view text, AllowedUsers& users, std::string_view& complaint) noexcept;
// Applies both texts to the defaults.
SocketsSettings parse_settings(std::string_view text, std::string_view users,
                               std::string_view& complaint) noexcept;

}  // namespace exs::sockets
