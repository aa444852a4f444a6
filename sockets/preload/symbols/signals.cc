// Signal actions. The layer's handlers precede the program's for two signals, and for handlers that block these
// (reach.h). No program sees them.
// SPDX-License-Identifier: BSD-2-Clause
#include <csignal>

#include "sockets/preload/kernel/libc.h"
#include "sockets/preload/kernel/reach.h"
#include "sockets/preload/symbols/export.h"

using namespace exs::sockets;

namespace {

using Handler = void (*)(int);

template <typename... Values>
Handler set_handler(const char* name, int number, Values... values) noexcept {
  const ProgramsAction programs(number);
  return find_function<Handler (*)(int, Values...)>(name)(number, values...);
}

}  // namespace

EXS_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  static const auto next = find_function<int (*)(int, const sigset_t*, sigset_t*)>("sigprocmask");
  const sigset_t wanted = set == nullptr ? sigset_t{} : *set;  // `before` may be the same place
  const int result = next(how, set, before);
  if (result == 0 && set != nullptr) note_mask(how, wanted);
  return result;
}
EXS_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  static const auto next = find_function<int (*)(int, const sigset_t*, sigset_t*)>("pthread_sigmask");
  const sigset_t wanted = set == nullptr ? sigset_t{} : *set;
  const int result = next(how, set, before);
  if (result == 0 && set != nullptr) note_mask(how, wanted);
  return result;
}
EXS_EXPORT int sigblock(int mask) noexcept {
  forget_mask();
  return find_function<int (*)(int)>("sigblock")(mask);
}
EXS_EXPORT int sigsetmask(int mask) noexcept {
  forget_mask();
  return find_function<int (*)(int)>("sigsetmask")(mask);
}
EXS_EXPORT int sighold(int number) noexcept {
  forget_mask();
  return find_function<int (*)(int)>("sighold")(number);
}
EXS_EXPORT int sigrelse(int number) noexcept {
  forget_mask();
  return find_function<int (*)(int)>("sigrelse")(number);
}
EXS_EXPORT int sigsuspend(const sigset_t* mask) {
  static const auto next = find_function<int (*)(const sigset_t*)>("sigsuspend");
  const WaitMask during(mask);
  return next(mask);
}
EXS_EXPORT int sigaction(int number, const struct sigaction* action, struct sigaction* before) noexcept {
  const ProgramsAction programs(number);
  return libc().sigaction(number, action, before);
}
EXS_EXPORT int __sigaction(int number, const struct sigaction* action, struct sigaction* before) noexcept {
  return sigaction(number, action, before);
}
EXS_EXPORT Handler signal(int number, Handler handler) noexcept {
  return set_handler("signal", number, handler);
}
EXS_EXPORT Handler ssignal(int number, Handler handler) noexcept {
  return set_handler("ssignal", number, handler);
}
EXS_EXPORT Handler __sysv_signal(int number, Handler handler) noexcept {
  return set_handler("__sysv_signal", number, handler);
}
EXS_EXPORT Handler sysv_signal(int number, Handler handler) noexcept {
  return set_handler("sysv_signal", number, handler);
}
EXS_EXPORT Handler sigset(int number, Handler handler) noexcept {
  forget_mask();
  return set_handler("sigset", number, handler);
}
EXS_EXPORT int sigignore(int number) noexcept {
  const ProgramsAction programs(number);
  return find_function<int (*)(int)>("sigignore")(number);
}
