// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sys/socket.h>

#include <cstdlib>
#include <span>

#include "base/hex.h"
#include "base/kernel.h"
#include "base/refusal.h"
#include "src/boot/launcher_boot.h"

namespace exs::boot {
namespace {

constexpr const char* kDescriptorVariable = "EXM_BOOT_FD";
constexpr const char* kRankVariable = "EXM_RANK";
constexpr const char* kSizeVariable = "EXM_SIZE";

// Reads the variable and takes it away. -1: it is unset or no number.
int take_number(const char* variable) {
  const char* const text = std::getenv(variable);
  const int number = text == nullptr ? -1 : number_of(text);
  ::unsetenv(variable);
  return number;
}

// A program between exs-run and this one may have closed the socket, and the number may name anything by now.
bool is_boot_socket(int descriptor) noexcept {
  int domain = 0;
  int type = 0;
  socklen_t bytes = sizeof domain;
  return kernel::getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX &&
         kernel::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
}

// The first line.
Status greet(Lines& lines, JobPlace& place) {
  const Result<std::string> line = lines.receive();
  if (!line && line.error() == Status(ECONNRESET))
    return refuse(ECONNRESET, "exs-run, which started this process, has gone");
  if (!line && line.error() != Status(EPROTO)) return line.error();
  std::string_view rest = line ? std::string_view(*line) : std::string_view();
  const bool is_ours = take_word(rest) == "job" && number_of(take_word(rest)) == kLaunchVersion;
  const bool has_key = is_ours && read_hex(take_word(rest), std::as_writable_bytes(std::span(place.key)));
  place.hosts = has_key ? number_of(rest) : 0;
  if (place.hosts < 1)
    return refuse(EPROTO, "what EXM_BOOT_FD names does not speak as exs-run of this version of exs does");
  return Status();
}

}  // namespace

bool is_of_exs_run() noexcept {
  return std::getenv(kDescriptorVariable) != nullptr;
}

Result<std::unique_ptr<Boot>> find_launcher() {
  if (!is_of_exs_run()) return nullptr;
  const int descriptor = take_number(kDescriptorVariable);
  JobPlace place;
  place.rank = take_number(kRankVariable);
  place.size = take_number(kSizeVariable);
  if (descriptor < 0 || place.rank < 0 || place.rank >= place.size)
    return failure(refuse(EPROTO, "EXM_BOOT_FD, EXM_RANK and EXM_SIZE are not as exs-run sets them"));
  if (!is_boot_socket(descriptor))
    return failure(refuse(EPROTO,
                          "EXM_BOOT_FD names {}, which is not the socket of exs-run: did a program between "
                          "it and this one close that?",
                          descriptor));
  Lines lines{UniqueFd(descriptor)};
  if (kernel::fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) return failure(errno);
  if (const Status greeted = greet(lines, place); !greeted.ok()) return failure(greeted);
  return std::make_unique<LauncherBoot>(place, std::move(lines));
}

}  // namespace exs::boot
