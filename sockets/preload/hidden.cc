#include "sockets/preload/hidden.h"

#include <fcntl.h>
#include <sys/resource.h>

#include "sockets/preload/raw.h"
#include "sockets/preload/table.h"

namespace exs::sockets {

bool may_make_file(std::size_t bytes) noexcept {
  rlimit limit{};
  return raw::sys(SYS_prlimit64, 0, RLIMIT_FSIZE, nullptr, &limit) == 0 && limit.rlim_cur >= bytes;
}

int hide(int descriptor) noexcept {
  constexpr rlim_t kRoom = 256;
  rlimit limit{};
  if (raw::sys(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit) != 0) return descriptor;
  const rlim_t numbers = limit.rlim_cur < kNumbers ? limit.rlim_cur : kNumbers;
  const rlim_t room = numbers > 2 * kRoom ? kRoom : numbers / 4;
  const long hidden = raw::sys(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, numbers - room);
  if (hidden >= 0) raw::sys(SYS_close, descriptor);
  const int number = hidden >= 0 ? static_cast<int>(hidden) : descriptor;
  if (number < kNumbers) g_numbers[number].store(kHiddenBit);
  return number;
}

void close_hidden(int descriptor) noexcept {
  if (descriptor < kNumbers) g_numbers[descriptor].store(0);
  raw::sys(SYS_close, descriptor);
}

}  // namespace exs::sockets
