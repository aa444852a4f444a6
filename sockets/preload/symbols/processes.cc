// How a process makes another one, becomes another program, or ends.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "sockets/preload/detach/detach.h"
#include "sockets/preload/kernel/libc.h"
#include "sockets/preload/kernel/own_process.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/kernel/reach.h"
#include "sockets/preload/process/handover.h"
#include "sockets/preload/process/numbers.h"
#include "sockets/preload/process/retire.h"
#include "sockets/preload/process/rights.h"
#include "sockets/preload/process/successor.h"
#include "sockets/preload/symbols/export.h"
#include "sockets/preload/table/aliases.h"
#include "sockets/preload/table/table.h"
#include "sockets/preload/waits/epoll_sets.h"

extern char** environ;

namespace exs::sockets {
namespace {

bool survives_exec(int number) noexcept {
  const long flags = raw::sys(SYS_fcntl, number, F_GETFD, 0);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}
// The connection survives the exec, by this number or an alias.
bool comes_along(int number) noexcept {
  return survives_exec(number) || alias_of(number) >= 0;
}

// Runs exec(environment), with one more word if the next program takes over connections.
template <typename Exec>
int run_with(const ExecHandover& handover, char* const* environment, const Exec& exec) noexcept {
  if (!handover.is_needed()) return exec(environment);
  auto** const room = static_cast<char**>(__builtin_alloca(environment_words(environment) * sizeof(char*)));
  return exec(with_word(environment, handover.word(), room));
}
// Runs use(environment), without this library if the next program refuses it.
template <typename Use>
int with_environment_for(Successor next, char* const* environment, const Use& use) noexcept {
  if (next != Successor::kRefusesUs) return use(environment);
  auto** const room = static_cast<char**>(__builtin_alloca(environment_words(environment) * sizeof(char*)));
  return use(without_us(environment, room, static_cast<char*>(__builtin_alloca(preload_bytes(environment)))));
}

// Executes another program. successor() tells whether it takes over.
template <typename Ask, typename Exec>
int become(const Ask& successor, char* const* environment, const Exec& exec) noexcept {
  const Successor next = successor();
  if (next == Successor::kNone || shares_used() == 0) return with_environment_for(next, environment, exec);
  ExecHandover handover(next == Successor::kOurs, is_vfork_child() ? comes_along : survives_exec);
  leave_all(survives_exec);
  const int result = with_environment_for(
      next, environment, [&](char* const* words) { return run_with(handover, words, exec); });
  const int error = errno;
  handover.failed();
  return_to_all();
  errno = error;
  return result;
}

// Runs another program beside this one.
template <typename Ask, typename Run>
int run_beside(const Ask& successor, char* const* environment, const Run& run) noexcept {
  const Successor next = successor();
  share_epoll_sets_that(survives_exec);
  if (next == Successor::kNone || shares_used() == 0) return with_environment_for(next, environment, run);
  ExecHandover handover(next == Successor::kOurs, comes_along);
  const int result = with_environment_for(next, environment,
                                          [&](char* const* words) { return run_with(handover, words, run); });
  if (result != 0) handover.failed();
  return result;
}

// For functions that pass on the environment of this process.
template <typename Run>
auto run_shell(const Run& run) noexcept {
  share_epoll_sets_that(survives_exec);
  ExecHandover handover(shares_used() > 0 && successor_of("/bin/sh", environ) == Successor::kOurs,
                        survives_exec);
  char** const own = environ;
  auto** const room = static_cast<char**>(__builtin_alloca(environment_words(own) * sizeof(char*)));
  if (handover.is_needed()) {
    with_word(own, handover.word(), room);
    environ = room;
  }
  const auto result = run();
  environ = own;
  return result;
}

__attribute__((destructor)) void leave_at_exit() noexcept {
  leave_for_good();
}

// Serves files whose path may be unknown.
Successor successor_of_file(const char* path, char* const* environment) noexcept {
  return successor_of(path, environment) == Successor::kOurs ? Successor::kOurs : Successor::kOther;
}

constexpr std::size_t kArgumentsMax = 4096;

// The arguments of execl and its relatives.
struct ArgumentList {
  char* list[kArgumentsMax];
  bool fit = true;
  void collect(const char* first, va_list rest) noexcept {
    std::size_t count = 0;
    list[count++] = const_cast<char*>(first);
    while (list[count - 1] != nullptr && count < kArgumentsMax) list[count++] = va_arg(rest, char*);
    fit = list[count - 1] == nullptr;
  }
};
int too_many() noexcept {
  errno = E2BIG;
  return -1;
}

// A child of clone() with its own memory behaves like a forked one.
struct Copied {
  int (*run)(void*);
  void* argument;
  bool has_other_rights;
};
int run_copied(void* context) noexcept {
  const Copied copied = *static_cast<Copied*>(context);
  after_fork_in_child();
  if (copied.has_other_rights) leave_family();
  return copied.run(copied.argument);
}
using Clone = int (*)(int (*)(void*), void*, int, void*, ...);

using Spawn = int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                      char* const*, char* const*);

}  // namespace
}  // namespace exs::sockets

using namespace exs::sockets;

EXS_EXPORT pid_t fork() noexcept {
  // Not by an atfork handler: libexs holds its locks by then, and the pump needs them.
  if (!is_vfork_child()) end_lanes_between_hosts();
  const pid_t result = libc().fork();  // runs our atfork handlers
  if (result < 0) undo_fork();
  return result;
}
EXS_EXPORT pid_t __fork() noexcept {
  return fork();
}
EXS_EXPORT pid_t _Fork() noexcept {
  if (!is_vfork_child()) end_lanes_between_hosts();
  before_fork();
  const pid_t result = libc()._Fork();
  if (result == 0) {
    after_fork_in_child();
  } else {
    after_fork_in_parent();
    if (result < 0) undo_fork();
  }
  return result;
}

EXS_EXPORT int clone(int (*run)(void*), void* stack, int flags, void* argument, ...) noexcept {
  static const Clone next = find_function<Clone>("clone");
  va_list rest;
  va_start(rest, argument);
  void* const parent = va_arg(rest, void*);
  void* const own = va_arg(rest, void*);
  void* const child = va_arg(rest, void*);
  va_end(rest);
  if ((flags & (CLONE_VM | CLONE_THREAD)) == CLONE_VM) note_shared_memory();
  if ((flags & (CLONE_THREAD | CLONE_FILES)) == CLONE_THREAD)
    retire(Why::kUnseen);  // the thread gets its own numbers
  if ((flags & CLONE_VM) != 0 || run == nullptr || stack == nullptr)
    return next(run, stack, flags, argument, parent, own, child);
  constexpr int kNamespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC;
  Copied copied{run, argument, (flags & kNamespaces) != 0};
  before_fork();
  const int result = next(run_copied, stack, flags, &copied, parent, own, child);
  after_fork_in_parent();
  if (result < 0) undo_fork();
  return result;
}
EXS_EXPORT int __clone(int (*run)(void*), void* stack, int flags, void* argument, ...) noexcept
    __attribute__((alias("clone")));

EXS_EXPORT int execve(const char* path, char* const* arguments, char* const* environment) noexcept {
  return become([&] { return successor_of(path, environment); }, environment,
                [&](char* const* words) { return libc().execve(path, arguments, words); });
}
EXS_EXPORT int execv(const char* path, char* const* arguments) noexcept {
  return execve(path, arguments, environ);
}
EXS_EXPORT int execvpe(const char* file, char* const* arguments, char* const* environment) noexcept {
  return become([&] { return successor_by_name(file, environment); }, environment,
                [&](char* const* words) { return libc().execvpe(file, arguments, words); });
}
EXS_EXPORT int execvp(const char* file, char* const* arguments) noexcept {
  return execvpe(file, arguments, environ);
}
EXS_EXPORT int fexecve(int file, char* const* arguments, char* const* environment) noexcept {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  return become([&] { return successor_of_file(path, environment); }, environment,
                [&](char* const* words) { return libc().fexecve(file, arguments, words); });
}
EXS_EXPORT int execveat(int folder, const char* path, char* const* arguments, char* const* environment,
                        int flags) noexcept {
  const bool is_known = is_there(path) && (folder == AT_FDCWD || path[0] == '/');
  return become([&] { return is_known ? successor_of_file(path, environment) : Successor::kOther; },
                environment,
                [&](char* const* words) { return libc().execveat(folder, path, arguments, words, flags); });
}
EXS_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  ArgumentList arguments;
  va_list rest;
  va_start(rest, first);
  arguments.collect(first, rest);
  va_end(rest);
  return arguments.fit ? execve(path, arguments.list, environ) : too_many();
}
EXS_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  ArgumentList arguments;
  va_list rest;
  va_start(rest, first);
  arguments.collect(first, rest);
  va_end(rest);
  return arguments.fit ? execvpe(file, arguments.list, environ) : too_many();
}
EXS_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  ArgumentList arguments;
  va_list rest;
  va_start(rest, first);
  arguments.collect(first, rest);
  char* const* const environment = va_arg(rest, char* const*);
  va_end(rest);
  return arguments.fit ? execve(path, arguments.list, environment) : too_many();
}

EXS_EXPORT int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t* actions, int number,
                                                int to) noexcept {
  static const auto next =
      find_function<int (*)(posix_spawn_file_actions_t*, int, int)>("posix_spawn_file_actions_adddup2");
  if (slot_of(number) != 0) note_alias(number, number);
  return next(actions, number, to);
}
EXS_EXPORT int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                           const posix_spawnattr_t* attributes, char* const* arguments,
                           char* const* environment) {
  static const Spawn next = find_function<Spawn>("posix_spawn");
  return run_beside(
      [&] { return successor_of(path, environment); }, environment,
      [&](char* const* words) { return next(pid, path, actions, attributes, arguments, words); });
}
EXS_EXPORT int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attributes, char* const* arguments,
                            char* const* environment) {
  static const Spawn next = find_function<Spawn>("posix_spawnp");
  return run_beside(
      [&] { return successor_by_name(file, environment); }, environment,
      [&](char* const* words) { return next(pid, file, actions, attributes, arguments, words); });
}
EXS_EXPORT FILE* popen(const char* command, const char* mode) {
  return run_shell([&] { return libc().popen(command, mode); });
}
EXS_EXPORT int system(const char* command) {
  if (command == nullptr) return libc().system(command);
  return run_shell([&] { return libc().system(command); });
}

EXS_EXPORT void _exit(int status) {
  leave_for_good();
  libc()._exit(status);
  __builtin_unreachable();
}
EXS_EXPORT void _Exit(int status) noexcept {
  _exit(status);
}
EXS_EXPORT void quick_exit(int status) noexcept {
  leave_for_good();
  libc().quick_exit(status);
  __builtin_unreachable();
}
