// What the environment says about the sockets layer. Used inside programs that know nothing of it: no allocation, no exceptions.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace exs::sockets {

// Whom connections may share memory with: "same" user, "any", or ids.
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
struct Settings {
  bool on = true;
  bool explain = false;
  bool spin_auto = true;
  std::uint32_t spin_us = 0;     // where !spin_auto
  bool kernel_waits = false;     // every wait is the kernel's, and bytes are announced by bells alone
  std::uint32_t ring_bytes = 0;  // of each direction; 0: as fits the connection
  std::uint32_t after = 4;       // calls on a connection before it asks for its peer
  std::uint32_t after_bytes = 64 * 1024;
  bool local = true;  // peers on this host share memory; else they are met as those of other hosts are
  enum class Between : std::uint8_t { kAuto, kOn, kOff };  // kAuto: if an agent runs on this host
  Between between = Between::kAuto;
  std::uint32_t agent_port = 7429;
  bool any_path = false;         // tests: the lane between hosts goes by TCP, where there is no RDMA device
  std::uint32_t turn_every = 0;  // tests: a sender leaves the ring after so many bytes; 0: when it is full
  AllowedUsers users;
};

// A text as EXS_SOCKETS has it: "off", "on", or "key=value,...". Words that mean nothing are left out; the first of them is
// `complaint` then, else that stays as it was.
void take_words(std::string_view text, Settings& settings, std::string_view& complaint) noexcept;
// A text as EXS_SHM_USERS has it, which replaces the users of before unless it is empty.
void take_users(std::string_view text, AllowedUsers& users, std::string_view& complaint) noexcept;
// The defaults, with both.
Settings parse_settings(std::string_view text, std::string_view users, std::string_view& complaint) noexcept;

}  // namespace exs::sockets
