// SPDX-License-Identifier: BSD-2-Clause
#include "tools/run/local_host.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <utility>

#include "tools/common/descriptor_limit.h"
#include "tools/common/failure.h"
#include "tools/run/find_program.h"

namespace run {
namespace {

constexpr std::size_t kDescriptorsOfMember = 3;
constexpr std::size_t kDescriptorsOfOurs = 64;  // more than our own, even while a process is being started

// Raises the descriptor limit, which must suffice for `count` processes. Returns the old limits.
rlimit make_room(std::size_t count) {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) != 0) tools::fail("getrlimit", errno);
  const std::uint64_t limit = tools::raise_descriptor_limit();
  const std::uint64_t needed = count * kDescriptorsOfMember + kDescriptorsOfOurs;
  if (limit < needed)
    throw tools::Failure(std::to_string(count) + " processes need " + std::to_string(needed) +
                         " descriptors here, and the limit is " + std::to_string(limit) + " (ulimit -Hn)");
  return before;
}

}  // namespace

LocalHost::~LocalHost() {
  for (const Member& member : members_) {
    if (member.pid > 0) ::kill(member.pid, SIGKILL);
  }
  for (const Member& member : members_) {
    if (member.pid > 0) ::waitpid(member.pid, nullptr, 0);
  }
}

void LocalHost::start(const Program& program, const Ranks& ranks) {
  const MemberProgram started{find_program(program.name), program.arguments, program.size,
                              program.is_tagged,          has_input_,        make_room(ranks.size())};
  const auto line = std::make_shared<const std::string>(program.first_line);
  members_.reserve(ranks.size());
  for (const std::size_t rank : ranks) {
    members_.push_back(start_member(started, rank, signals_));
    ++running_;
    events_.started(rank);
    members_.back().channel.send(line);
  }
}

Member* LocalHost::member_of(std::size_t rank) {
  const auto found =
      std::lower_bound(members_.begin(), members_.end(), rank,
                       [](const Member& member, std::size_t other) { return member.rank < other; });
  return found == members_.end() || found->rank != rank ? nullptr : &*found;
}

void LocalHost::send(const Ranks& ranks, const Channel::Lines& lines) {
  for (const std::size_t rank : ranks) {
    if (Member* const member = member_of(rank)) member->channel.send(lines);
  }
}

void LocalHost::signal(std::size_t rank, int signal) {
  const Member* const member = member_of(rank);
  if (member != nullptr && member->pid > 0) ::kill(member->pid, signal);
}

void LocalHost::close(std::size_t rank) {
  if (Member* const member = member_of(rank)) member->channel.close();
}

void LocalHost::finish() {
  for (Member& member : members_) {
    member.out.finish(output_);
    member.error.finish(output_);
  }
}

void LocalHost::watch(std::vector<pollfd>& watched) {
  for (Member& member : members_) {
    const bool has_to_send = member.channel.has_to_send();
    watched.push_back(
        {member.channel.descriptor(), static_cast<short>(has_to_send ? POLLIN | POLLOUT : POLLIN), 0});
    for (LinePipe* const pipe : {&member.out, &member.error}) {
      if (!output_.is_read(pipe->stream())) pipe->close();
      watched.push_back({output_.has_room() ? pipe->descriptor() : -1, POLLIN, 0});
    }
  }
}

void LocalHost::serve(const pollfd*& events) {
  for (Member& member : members_) {
    const pollfd* const own = std::exchange(events, events + kDescriptorsOfMember);
    if ((own[0].revents & POLLOUT) != 0) member.channel.send_rest();
    if ((own[0].revents & ~POLLOUT) != 0) hear(member);
    for (const auto& [pipe, event] : {std::pair(&member.out, own + 1), std::pair(&member.error, own + 2)}) {
      if (event->revents != 0 && pipe->pass_on(output_)) events_.wrote(member.rank);
    }
  }
}

void LocalHost::hear(Member& member) {
  for (const std::string& line : member.channel.receive()) events_.heard(member.rank, line);
}

bool LocalHost::child_ended(pid_t pid, int wait_status) {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [pid](const Member& member) { return member.pid == pid; });
  if (found == members_.end()) return false;
  found->pid = 0;
  --running_;
  for (LinePipe* const pipe : {&found->out, &found->error}) {
    if (pipe->pass_on_rest(output_)) events_.wrote(found->rank);
  }
  hear(*found);
  found->channel.close();
  events_.ended(found->rank, wait_status);
  return true;
}

}  // namespace run
