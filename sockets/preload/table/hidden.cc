// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/table/hidden.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/table/entries.h"

namespace exs::sockets {
namespace {

constexpr rlim_t kRoom = 256;

// The program may change the limit while it is raised. The layer's own changes exclude one another.
std::atomic<bool> is_raised{false};

// Runs `use` with a higher limit. Negative errno: the process may not raise it.
template <typename Use>
long with_higher_limit(const rlimit& limit, const Use& use) noexcept {
  if (is_raised.exchange(true)) return -EAGAIN;
  const rlim_t above = limit.rlim_cur + kRoom;
  const rlimit higher{above, std::max(above, limit.rlim_max)};
  long result = raw::sys(SYS_prlimit64, 0, RLIMIT_NOFILE, &higher, nullptr);
  if (result == 0) {
    result = use();
    raw::sys(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, nullptr);
  }
  is_raised.store(false);
  return result;
}

long duplicate_above(int descriptor, const rlimit& limit) noexcept {
  if (limit.rlim_cur > kNumbers - kRoom) return -EINVAL;
  return with_higher_limit(limit,
                           [&] { return raw::sys(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, limit.rlim_cur); });
}

}  // namespace

bool may_make_file(std::size_t bytes) noexcept {
  rlimit limit{};
  return raw::sys(SYS_prlimit64, 0, RLIMIT_FSIZE, nullptr, &limit) == 0 && limit.rlim_cur >= bytes;
}

int hide(int descriptor) noexcept {
  rlimit limit{};
  if (raw::sys(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit) != 0) return descriptor;
  long hidden = duplicate_above(descriptor, limit);
  if (hidden < 0) {
    const rlim_t numbers = std::min<rlim_t>(limit.rlim_cur, kNumbers);
    const rlim_t room = numbers > 2 * kRoom ? kRoom : numbers / 4;
    hidden = raw::sys(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, numbers - room);
  }
  if (hidden >= 0) raw::sys(SYS_close, descriptor);
  const int number = hidden >= 0 ? static_cast<int>(hidden) : descriptor;
  if (is_known(number)) find_entry(number)->store(kHiddenBit);
  return number;
}

bool may_hide() noexcept {
  rlimit limit{};
  if (raw::sys(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit) != 0) return false;
  return limit.rlim_cur >= 2 * kRoom || limit.rlim_max > limit.rlim_cur ||
         with_higher_limit(limit, [] { return 0; }) == 0;
}

void close_hidden(int descriptor) noexcept {
  if (is_known(descriptor)) take_entry(descriptor);
  raw::sys(SYS_close, descriptor);
}

}  // namespace exs::sockets
