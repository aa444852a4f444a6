// The other end of a LauncherBoot, in the test's hands, and an environment as exs-run sets it.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "src/boot/boot.h"

namespace exs::test {

inline constexpr const char* kBootVariables[] = {"EXM_BOOT_FD", "EXM_RANK", "EXM_SIZE"};

// Takes the variables away again. nullptr: that one is unset.
class BootEnvironment {
 public:
  BootEnvironment(const char* descriptor, const char* rank, const char* size) {
    const char* const values[] = {descriptor, rank, size};
    for (std::size_t i = 0; i < std::size(values); ++i) {
      if (values[i] != nullptr) ::setenv(kBootVariables[i], values[i], 1);
    }
  }
  ~BootEnvironment() {
    for (const char* const name : kBootVariables) ::unsetenv(name);
  }
  BootEnvironment(const BootEnvironment&) = delete;
  BootEnvironment& operator=(const BootEnvironment&) = delete;
};

class FalseLauncher {
 public:
  static constexpr const char* kFirstLine = "job 2 000102030405060708090a0b0c0d0eff 3\n";

  explicit FalseLauncher(int type = SOCK_STREAM) {
    int ends[2];
    if (::socketpair(AF_UNIX, type, 0, ends) != 0) std::abort();
    here_ = UniqueFd(ends[0]);
    there_ = ends[1];
  }

  // What find_boot() makes of it in rank `rank` of `size`.
  Result<std::unique_ptr<boot::Boot>> start(int rank, int size) {
    const BootEnvironment environment(std::to_string(there_).c_str(), std::to_string(rank).c_str(),
                                      std::to_string(size).c_str());
    return boot::find_boot();
  }
  // The same, which has to be one.
  std::unique_ptr<boot::Boot> boot(int rank, int size) {
    say(kFirstLine);
    auto found = start(rank, size);
    if (!found || *found == nullptr) std::abort();
    return std::move(*found);
  }

  void say(std::string_view text) const {
    if (::send(here_.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
      std::abort();
  }
  // What the process has said so far.
  [[nodiscard]] std::string heard() const {
    std::array<char, 16384> text;
    const ssize_t count = ::recv(here_.get(), text.data(), text.size(), MSG_DONTWAIT);
    return count <= 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(count));
  }
  void go() { here_.reset(); }
  // Listens still.
  void say_no_more() const { ::shutdown(here_.get(), SHUT_WR); }
  // The process's end, which is the boot's once it is found.
  [[nodiscard]] int there() const { return there_; }

 private:
  UniqueFd here_;
  int there_ = -1;
};

}  // namespace exs::test
