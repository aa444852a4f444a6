// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/general_sentence.h"

#include <cerrno>

namespace exs::rpc {
namespace {

struct GeneralRow {
  int error;
  const char* sentence;
};

constexpr GeneralRow kRows[] = {
    {EAGAIN, "the process may have no more threads: raise ulimit -u"},
    {ECONNRESET, "the other end closed the connection, or its process ended"},
    {EMFILE, "the process has no free descriptor: raise ulimit -n, or close some"},
    {ENOMEM, "out of memory, or a limit of the process (ulimit -a) or its cgroup is reached"},
};

}  // namespace

const char* general_sentence(std::string_view /*function*/, int error) noexcept {
  for (const GeneralRow& row : kRows)
    if (row.error == error) return row.sentence;
  return "";
}

}  // namespace exs::rpc
