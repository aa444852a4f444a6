// How a process makes another one, becomes another program, or ends.
#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>

#include "sockets/preload/detach.h"
#include "sockets/preload/libc.h"
#include "sockets/preload/numbers.h"
#include "sockets/preload/raw.h"
#include "sockets/preload/symbols/export.h"
#include "sockets/preload/table.h"

extern char** environ;

namespace exs::sockets {
namespace {

bool survives_exec(int number) noexcept {
  const long flags = raw::sys(SYS_fcntl, number, F_GETFD, 0);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}
bool survives_nothing(int) noexcept {
  return false;
}

// A program is about to run that inherits numbers from here, whether in our place or in a child's.
void hand_over() noexcept {
  for (int number = 0; number < kNumbers && places_used() > 0; ++number)
    if (slot_of(number) != 0 && survives_exec(number)) detach(number, Why::kPinnedExec);
}

template <typename Exec>
int become(const Exec& exec) noexcept {
  if (is_vfork_child()) {
    hand_over();
    return exec();
  }
  leave_all(survives_exec);
  const int result = exec();
  const int error = errno;
  return_to_all();
  errno = error;
  return result;
}

void leave_for_good() noexcept {
  static bool left = false;
  if (left || is_vfork_child()) return;
  left = true;
  leave_all(survives_nothing);
}

__attribute__((destructor)) void leave_at_exit() noexcept {
  leave_for_good();
}

constexpr std::size_t kArgumentsMax = 4096;

// The arguments of execl and its relatives.
struct Arguments {
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

using Spawn = int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                      char* const*, char* const*);

}  // namespace
}  // namespace exs::sockets

using namespace exs::sockets;

EXS_EXPORT pid_t fork() noexcept {
  const pid_t result = libc().fork();  // its handlers are ours
  if (result < 0) undo_fork();
  return result;
}
EXS_EXPORT pid_t __fork() noexcept {
  return fork();
}
EXS_EXPORT pid_t _Fork() noexcept {
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

EXS_EXPORT int execve(const char* path, char* const* arguments, char* const* environment) noexcept {
  return become([&] { return libc().execve(path, arguments, environment); });
}
EXS_EXPORT int execv(const char* path, char* const* arguments) noexcept {
  return execve(path, arguments, environ);
}
EXS_EXPORT int execvpe(const char* file, char* const* arguments, char* const* environment) noexcept {
  return become([&] { return libc().execvpe(file, arguments, environment); });
}
EXS_EXPORT int execvp(const char* file, char* const* arguments) noexcept {
  return execvpe(file, arguments, environ);
}
EXS_EXPORT int fexecve(int file, char* const* arguments, char* const* environment) noexcept {
  return become([&] { return libc().fexecve(file, arguments, environment); });
}
EXS_EXPORT int execveat(int folder, const char* path, char* const* arguments, char* const* environment,
                        int flags) noexcept {
  return become([&] { return libc().execveat(folder, path, arguments, environment, flags); });
}
EXS_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  Arguments arguments;
  va_list rest;
  va_start(rest, first);
  arguments.collect(first, rest);
  va_end(rest);
  return arguments.fit ? execve(path, arguments.list, environ) : too_many();
}
EXS_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  Arguments arguments;
  va_list rest;
  va_start(rest, first);
  arguments.collect(first, rest);
  va_end(rest);
  return arguments.fit ? execvpe(file, arguments.list, environ) : too_many();
}
EXS_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  Arguments arguments;
  va_list rest;
  va_start(rest, first);
  arguments.collect(first, rest);
  char* const* const environment = va_arg(rest, char* const*);
  va_end(rest);
  return arguments.fit ? execve(path, arguments.list, environment) : too_many();
}

EXS_EXPORT int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                           const posix_spawnattr_t* attributes, char* const* arguments,
                           char* const* environment) {
  static const Spawn next = find_function<Spawn>("posix_spawn");
  hand_over();
  return next(pid, path, actions, attributes, arguments, environment);
}
EXS_EXPORT int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attributes, char* const* arguments,
                            char* const* environment) {
  static const Spawn next = find_function<Spawn>("posix_spawnp");
  hand_over();
  return next(pid, file, actions, attributes, arguments, environment);
}
EXS_EXPORT FILE* popen(const char* command, const char* mode) {
  hand_over();
  return libc().popen(command, mode);
}
EXS_EXPORT int system(const char* command) {
  if (command != nullptr) hand_over();
  return libc().system(command);
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
