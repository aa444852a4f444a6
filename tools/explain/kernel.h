// What the kernel reports about itself and this process, and trials of system calls.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace explain {

// The first line of a file, without its end. nullopt: there is no such file, or it cannot be read.
std::optional<std::string> read_first_line(const std::string& path);
std::optional<std::int64_t> read_first_number(const std::string& path);
// The value of "KEY:" in /proc/self/status; empty: not there.
std::string read_own_status(const std::string& key);
// Inode of /proc/self/ns/KIND; 0: unknown.
std::uint64_t namespace_inode(const std::string& kind);
bool is_filtered();  // a seccomp filter is in force

// How a trial ended.
struct Trial {
  int error = 0;   // errno; 0: it worked
  int signal = 0;  // what ended the process that tried, as a strict seccomp filter does

  [[nodiscard]] bool worked() const { return error == 0 && signal == 0; }
  // "Operation not permitted", "killed by SIGSYS".
  [[nodiscard]] std::string description() const;
};
// Runs `body`, which returns an errno, in a process of its own. Before any thread: it forks.
Trial try_in_child(const std::function<int()>& body);

}  // namespace explain
