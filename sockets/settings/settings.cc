// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/settings/settings.h"

#include <charconv>

namespace exs::sockets {
namespace {

bool take_number(std::string_view& text, std::uint64_t& value) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool in_range(std::uint64_t value, std::uint64_t low, std::uint64_t high, std::uint32_t& target) noexcept {
  if (value < low || value > high) return false;
  target = static_cast<std::uint32_t>(value);
  return true;
}

// Parses "4k" or "1M".
bool parse_bytes(std::string_view text, std::uint64_t& bytes) noexcept {
  if (!take_number(text, bytes)) return false;
  if (text.empty()) return true;
  constexpr unsigned kKibi = 10;
  if (text == "k" || text == "K") return (bytes <<= kKibi) < (std::uint64_t{1} << 32);
  if (text == "M") return (bytes <<= 2 * kKibi) < (std::uint64_t{1} << 32);
  return false;
}

// Parses "20us", "1ms" or "0".
bool parse_time(std::string_view text, std::uint64_t& us) noexcept {
  constexpr std::uint64_t kUsOfMs = 1000;
  if (!take_number(text, us)) return false;
  if (text == "ms") us *= kUsOfMs;
  return text == "us" || text == "ms" || (text.empty() && us == 0);
}

bool set_ring(std::string_view value, SocketsSettings& settings) noexcept {
  constexpr std::uint64_t kMin = 4096;
  constexpr std::uint64_t kMax = std::uint64_t{16} << 20;
  std::uint64_t bytes = 0;
  return parse_bytes(value, bytes) && (bytes & (bytes - 1)) == 0 &&
         in_range(bytes, kMin, kMax, settings.ring_bytes);
}

bool set_spin(std::string_view value, SocketsSettings& settings) noexcept {
  constexpr std::uint64_t kMaxUs = 1000000;
  if (value == "auto") return settings.spin_auto = true;
  std::uint64_t us = 0;
  if (!parse_time(value, us) || !in_range(us, 0, kMaxUs, settings.spin_us)) return false;
  settings.spin_auto = false;
  return true;
}

bool set_wait(std::string_view value, SocketsSettings& settings) noexcept {
  settings.kernel_waits = value == "kernel";
  return value == "kernel" || value == "auto";
}

bool set_count(std::string_view value, std::uint64_t high, std::uint32_t& target) noexcept {
  std::uint64_t number = 0;
  return parse_bytes(value, number) && in_range(number, 1, high, target);
}

bool set_between(std::string_view value, SocketsSettings& settings) noexcept {
  using Between = SocketsSettings::Between;
  settings.between = value == "on" ? Between::kOn : value == "off" ? Between::kOff : Between::kAuto;
  return value == "on" || value == "off" || value == "auto";
}

bool set_path(std::string_view value, SocketsSettings& settings) noexcept {
  settings.any_path = value == "any";
  return value == "any" || value == "rdma";
}

bool set_local(std::string_view value, SocketsSettings& settings) noexcept {
  settings.local = value != "off";
  return value == "on" || value == "off";
}

bool set(std::string_view key, std::string_view value, SocketsSettings& settings) noexcept {
  constexpr std::uint64_t kCallsMax = 1000;
  constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 30;
  if (key == "ring") return set_ring(value, settings);
  if (key == "spin") return set_spin(value, settings);
  if (key == "wait") return set_wait(value, settings);
  if (key == "after") return set_count(value, kCallsMax, settings.after);
  if (key == "after-bytes") return set_count(value, kBytesMax, settings.after_bytes);
  constexpr std::uint64_t kPortMax = 65535;
  if (key == "between") return set_between(value, settings);
  if (key == "path") return set_path(value, settings);
  if (key == "local") return set_local(value, settings);
  if (key == "agent") return set_count(value, kPortMax, settings.agent_port);
  if (key == "turn") return set_count(value, kBytesMax, settings.turn_every);
  return false;
}

bool take_word(std::string_view word, SocketsSettings& settings) noexcept {
  if (word == "on" || word == "off") {
    settings.on = word == "on";
    return true;
  }
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  // substr() could throw, as far as the linker knows.
  return set({word.data(), equals}, {word.data() + equals + 1, word.size() - equals - 1}, settings);
}

template <typename Use>
void each_word(std::string_view text, const Use& use) noexcept {
  while (!text.empty()) {
    const std::size_t end = text.find(',');
    if (const std::string_view word = text.substr(0, end); !word.empty()) use(word);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

bool take_user(std::string_view word, AllowedUsers& users) noexcept {
  if (word == "same") return users.same = true;
  if (word == "any") return users.any = true;
  std::uint64_t id = 0;
  if (!take_number(word, id) || !word.empty() || id >= ~uid_t{0} || users.count == AllowedUsers::kIdsMax)
    return false;
  users.ids[users.count++] = static_cast<uid_t>(id);
  return true;
}

}  // namespace

bool AllowedUsers::allow(uid_t peer, uid_t ours) const noexcept {
  if (any || (same && peer == ours)) return true;
  for (std::uint32_t i = 0; i < count; ++i)
    if (ids[i] == peer) return true;
  return false;
}

void take_words(std::string_view text, SocketsSettings& settings, std::string_view& complaint) noexcept {
  each_word(text, [&](std::string_view word) {
    if (!take_word(word, settings) && complaint.empty()) complaint = word;
  });
}

void take_users(std::string_view text, AllowedUsers& users, std::string_view& complaint) noexcept {
  if (text.empty()) return;
  users = {};
  users.same = false;
  each_word(text, [&](std::string_view word) {
    if (!take_user(word, users) && complaint.empty()) complaint = word;
  });
}

SocketsSettings parse_settings(std::string_view text, std::string_view users,
                               std::string_view& complaint) noexcept {
  SocketsSettings settings;
  take_words(text, settings, complaint);
  take_users(users, settings.users, complaint);
  return settings;
}

}  // namespace exs::sockets
