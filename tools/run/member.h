// One process of a job, as exs-run sees it.
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

enum class Standing : std::uint8_t {
  in_job,
  left,  // in order: how it ends ends nobody else
  lost   // has ended or is none of the job any more, and the others have been told
};

struct Member {
  std::size_t rank;
  pid_t pid;  // 0: it has ended and was waited for
  Channel channel;
  LinePipe out, error;
  Standing standing = Standing::in_job;
};

// How the processes of a job are started.
struct MemberProgram {
  std::string path;
  // The first is the program's name; in the others {rank} and {size} stand for those.
  std::vector<std::string> arguments;
  std::size_t size;
  bool is_tagged;
  rlimit descriptors;  // those that exs-run itself began with
};

// Throws tools::Failure. A process that cannot become the program says so over its channel: "unexecuted ERRNO".
Member start_member(const MemberProgram& program, std::size_t rank, const Signals& signals);

}  // namespace run
