// Calls that go past the C library's functions: by number, by io_uring, and through filters of system calls.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>

#include "sockets/between/library.h"
#include "sockets/preload/detach/detach.h"
#include "sockets/preload/kernel/libc.h"
#include "sockets/preload/kernel/own_process.h"
#include "sockets/preload/kernel/reach.h"
#include "sockets/preload/process/retire.h"
#include "sockets/preload/process/rights.h"
#include "sockets/preload/symbols/export.h"
#include "sockets/preload/table/table.h"

struct io_uring;
struct io_uring_params;

namespace exs::sockets {
namespace {

constexpr int kArguments = 6;

struct Arguments {
  long words[kArguments] = {};

  explicit Arguments(va_list list) noexcept {
    for (long& word : words) word = va_arg(list, long);
  }
  [[nodiscard]] int number(int at) const noexcept { return static_cast<int>(words[at]); }
  [[nodiscard]] std::size_t size(int at) const noexcept { return static_cast<std::size_t>(words[at]); }
  template <typename Type>
  [[nodiscard]] Type* pointer(int at) const noexcept {
    return reinterpret_cast<Type*>(words[at]);  // NOLINT(performance-no-int-to-ptr): a word of the call
  }
};

// Probes, whose arguments the kernel refuses, do not count.
bool sets_seccomp_mode(long mode, long filter) noexcept {
  return mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && filter != 0);
}
bool sets_seccomp(long call, const Arguments& all) noexcept {
  if (call == SYS_prctl)
    return all.words[0] == PR_SET_SECCOMP && sets_seccomp_mode(all.words[1], all.words[2]);
  if (call != SYS_seccomp) return false;
  const bool is_strict = all.words[0] == SECCOMP_SET_MODE_STRICT && all.words[1] == 0 && all.words[2] == 0;
  return is_strict || (all.words[0] == SECCOMP_SET_MODE_FILTER && all.words[2] != 0);
}

bool changes_rights(long call) noexcept {
  switch (call) {
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setresuid:
    case SYS_setresgid:
    case SYS_capset:
    case SYS_unshare:
    case SYS_setns:
    case SYS_landlock_restrict_self: return true;
    default: return false;
  }
}

// Calls by number on a known connection get the same service as those of the C library.
bool is_known(long call, const Arguments& all) noexcept {
  switch (call) {
    case SYS_read:
    case SYS_write:
    case SYS_readv:
    case SYS_writev:
    case SYS_recvfrom:
    case SYS_sendto:
    case SYS_recvmsg:
    case SYS_sendmsg:
    case SYS_sendfile:
    case SYS_shutdown:
    case SYS_close:
    case SYS_dup: return entry_of(all.number(0)) != 0;
    case SYS_splice: return (entry_of(all.number(0)) | entry_of(all.number(2))) != 0;
    case SYS_dup3: return (entry_of(all.number(0)) | entry_of(all.number(1))) != 0;
    default: return false;
  }
}

long call_known(long call, const Arguments& all) noexcept {
  const int number = all.number(0);
  const std::size_t bytes = all.size(2);
  switch (call) {
    case SYS_read: return read(number, all.pointer<void>(1), bytes);
    case SYS_write: return write(number, all.pointer<void>(1), bytes);
    case SYS_readv: return readv(number, all.pointer<iovec>(1), all.number(2));
    case SYS_writev: return writev(number, all.pointer<iovec>(1), all.number(2));
    case SYS_recvfrom:
      return recvfrom(number, all.pointer<void>(1), bytes, all.number(3), all.pointer<sockaddr>(4),
                      all.pointer<socklen_t>(5));
    case SYS_sendto:
      return sendto(number, all.pointer<void>(1), bytes, all.number(3), all.pointer<sockaddr>(4),
                    static_cast<socklen_t>(all.words[5]));
    case SYS_recvmsg: return recvmsg(number, all.pointer<msghdr>(1), all.number(2));
    case SYS_sendmsg: return sendmsg(number, all.pointer<msghdr>(1), all.number(2));
    case SYS_sendfile: return sendfile64(number, all.number(1), all.pointer<off64_t>(2), all.size(3));
    case SYS_splice:
      return splice(number, all.pointer<off64_t>(1), all.number(2), all.pointer<off64_t>(3), all.size(4),
                    static_cast<unsigned>(all.words[5]));
    case SYS_shutdown: return shutdown(number, all.number(1));
    case SYS_close: return close(number);
    case SYS_dup: return dup(number);
    default: return dup3(number, all.number(1), all.number(2));
  }
}

// For functions of another library, which the program or one of its libraries loads.
template <typename Function>
Function of_library(const char* library, const char* name) noexcept {
  if (const auto next = find_function<Function>(name)) return next;
  return reinterpret_cast<Function>(find_in_library(library, name));
}

// Kernel asynchronous I/O: TCP serves the connections in the blocks.
void leave_for_blocks(long count, iocb* const* blocks) noexcept {
  for (long i = 0; i < count && is_there(&blocks[i]) && is_there(blocks[i]); ++i)
    if (const int number = static_cast<int>(blocks[i]->aio_fildes); slot_of(number) != 0)
      detach(number, Why::kOption);
}

// The program can use any of its sockets by its ring. The ring of libexs is another matter.
template <typename Function, typename... Words>
int make_ring(const void* caller, const char* name, Words... words) noexcept {
  const auto next = of_library<Function>("liburing.so.2", name);
  const int result = next == nullptr ? -ENOSYS : next(words...);
  if (result >= 0 && !between::is_in_library(caller)) retire(Why::kIoUring);
  return result;
}

}  // namespace
}  // namespace exs::sockets

using namespace exs::sockets;

EXS_EXPORT int prctl(int operation, ...) noexcept {
  va_list list;
  va_start(list, operation);
  const Arguments all(list);
  va_end(list);
  if (operation == PR_SET_SECCOMP && sets_seccomp_mode(all.words[0], all.words[1])) retire(Why::kSandbox);
  return libc().prctl(operation, all.words[0], all.words[1], all.words[2], all.words[3]);
}

EXS_EXPORT long syscall(long call, ...) noexcept {
  va_list list;
  va_start(list, call);
  const Arguments all(list);
  va_end(list);
  if (is_known(call, all)) return call_known(call, all);
  if (sets_seccomp(call, all)) retire(Why::kSandbox);
  if (call == SYS_io_submit) leave_for_blocks(all.words[1], all.pointer<iocb*>(2));
  if (call == SYS_unshare && (all.words[0] & CLONE_FILES) != 0) retire(Why::kUnseen);
  if (changes_rights(call)) leave_family();
  if (call == SYS_close_range)
    return close_range(static_cast<unsigned>(all.words[0]), static_cast<unsigned>(all.words[1]),
                       all.number(2));
  if (call == SYS_exit_group) _exit(all.number(0));
  if (call == SYS_clone || call == SYS_clone3) note_shared_memory();  // the new process may share our memory
  const long result = libc().syscall(call, all.words[0], all.words[1], all.words[2], all.words[3],
                                     all.words[4], all.words[5]);
  if (call == SYS_io_uring_setup && result >= 0 && !between::is_in_library(__builtin_return_address(0)))
    retire(Why::kIoUring);
  return result;
}

EXS_EXPORT int io_submit(void* context, long count, iocb** blocks) noexcept {
  const auto next = of_library<int (*)(void*, long, iocb**)>("libaio.so.1", "io_submit");
  leave_for_blocks(count, blocks);
  return next == nullptr ? -ENOSYS : next(context, count, blocks);
}

EXS_EXPORT int io_uring_queue_init(unsigned entries, io_uring* ring, unsigned flags) noexcept {
  return make_ring<int (*)(unsigned, io_uring*, unsigned)>(__builtin_return_address(0), "io_uring_queue_init",
                                                           entries, ring, flags);
}
EXS_EXPORT int io_uring_queue_init_params(unsigned entries, io_uring* ring,
                                          io_uring_params* parameters) noexcept {
  return make_ring<int (*)(unsigned, io_uring*, io_uring_params*)>(
      __builtin_return_address(0), "io_uring_queue_init_params", entries, ring, parameters);
}
EXS_EXPORT int io_uring_queue_init_mem(unsigned entries, io_uring* ring, io_uring_params* parameters,
                                       void* memory, size_t bytes) noexcept {
  return make_ring<int (*)(unsigned, io_uring*, io_uring_params*, void*, size_t)>(
      __builtin_return_address(0), "io_uring_queue_init_mem", entries, ring, parameters, memory, bytes);
}
EXS_EXPORT int io_uring_setup(unsigned entries, io_uring_params* parameters) noexcept {
  return make_ring<int (*)(unsigned, io_uring_params*)>(__builtin_return_address(0), "io_uring_setup",
                                                        entries, parameters);
}
