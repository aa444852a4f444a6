// Facts that the kernel reports about itself and this process, and trials of system calls.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace explain {

// Returns the first line of a file, without its newline. nullopt: the file cannot be read.
std::optional<std::string> read_first_line(const std::string& path);
std::optional<std::int64_t> read_first_number(const std::string& path);
// Returns the value of "KEY:" in /proc/self/status, or an empty text.
std::string read_own_status(const std::string& key);
// Returns the inode of /proc/self/ns/KIND; 0: unknown.
std::uint64_t namespace_inode(const std::string& kind);
bool is_filtered();  // a seccomp filter is in force

// The outcome of a trial.
struct Trial {
  int error = 0;   // errno; 0: it worked
  int signal = 0;  // the signal that ended the trial's process, as a strict seccomp filter does

  [[nodiscard]] bool worked() const { return error == 0 && signal == 0; }
  // "Operation not permitted", "killed by SIGSYS".
  [[nodiscard]] std::string description() const;
};
// Runs `body`, which returns an errno value, in a process of its own. It forks: call before any thread exists.
Trial try_in_child(const std::function<int()>& body);

}  // namespace explain
