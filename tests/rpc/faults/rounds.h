// Rounds of a sweep: each is a process, and some of them run at the same moment, because most of the time they wait.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <string>

namespace exs::test {

// An object that processes share.
template <typename Object>
class SharedObject {
 public:
  SharedObject()
      : object_(new (::mmap(nullptr, sizeof(Object), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                            0)) Object) {}
  ~SharedObject() { ::munmap(object_, sizeof(Object)); }
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  Object& operator*() const { return *object_; }
  Object* operator->() const { return object_; }

 private:
  Object* object_;
};

inline constexpr unsigned kRoundLimitSeconds = 200;  // only a hang takes this long

// Runs body() in a process of its own.
template <typename Body>
pid_t begin_round(const Body& body) {
  std::cout.flush();  // or the child prints the buffer again
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::alarm(kRoundLimitSeconds);
  ::signal(SIGABRT, SIG_DFL);
  body();
  std::exit(0);  // runs the leak check of a sanitizer
}

// Returns what went wrong; empty: nothing.
inline std::string end_round(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) != pid) continue;
  if (WIFSIGNALED(status)) return ::strsignal(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : "exit status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace exs::test
