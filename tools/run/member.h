// One process of a job that is a child of this process.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tools/run/channel.h"
#include "tools/run/line_pipe.h"
#include "tools/run/signals.h"

namespace run {

struct Member {
  std::size_t rank;
  pid_t pid;  // 0: ended, and waited for
  Channel channel;
  LinePipe out, error;
};

// How the processes of a job are started.
struct MemberProgram {
  std::string path;
  // The first is the program's name; in the others {rank} and {size} are replaced.
  std::vector<std::string> arguments;
  std::size_t size;
  bool is_tagged;
  bool has_input;      // rank 0 inherits this process's standard input
  rlimit descriptors;  // the limits that exs-run itself started with
};

// Throws tools::Failure. A process that cannot execute the program sends "unexecuted ERRNO" over its channel.
Member start_member(const MemberProgram& program, std::size_t rank, const Signals& signals);

}  // namespace run
