// SPDX-License-Identifier: BSD-2-Clause
#include "base/c_call.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace exs {
namespace {

constexpr std::size_t kFunctionBytesMax = 32;

struct FailedCall {
  const char* function = nullptr;
  Status why;
  std::array<char, kFunctionBytesMax + kSentenceBytesMax> text{};
};

constinit thread_local FailedCall t_failed;

void write_text(FailedCall& failed, GeneralSentence general_of) noexcept {
  std::array<char, kSentenceBytesMax> sentence;
  const std::size_t length = failed.why.sentence() == 0 ? 0 : text_of_refusal(failed.why, sentence);
  char* const out = failed.text.data();
  if (length > 0) {
    std::snprintf(out, failed.text.size(), "%s: %.*s", failed.function, static_cast<int>(length),
                  sentence.data());
    return;
  }
  const char* const general = general_of(failed.function, failed.why.error());
  std::snprintf(out, failed.text.size(), "%s: %s%s%s", failed.function, std::strerror(failed.why.error()),
                *general == '\0' ? "" : ": ", general);
}

}  // namespace

void call_failed(const char* function, Status why) noexcept {
  t_failed.function = function;
  t_failed.why = why;
  errno = why.error();
}

const char* text_of_failed_call(GeneralSentence general) noexcept {
  FailedCall& failed = t_failed;
  const int kept_errno = errno;
  if (failed.function != nullptr) write_text(failed, general);
  errno = kept_errno;
  return failed.text.data();
}

}  // namespace exs
