// SPDX-License-Identifier: BSD-2-Clause
#include "tools/run/agent.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>

#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/run/exit_status.h"
#include "tools/run/find_program.h"

namespace run {
namespace {

constexpr std::size_t kBytesWaitingMax = 1 << 20;

// The connection uses the standard streams; it moves to other descriptors, out of the way of the processes' input and output.
exs::UniqueFd taken(int standard) {
  exs::UniqueFd own(::fcntl(standard, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  const exs::UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!own.valid() || !nothing.valid() || ::dup2(nothing.get(), standard) < 0)
    tools::fail("cannot take the standard input and output", errno);
  return own;
}

Ranks ranks_of(std::string_view words) {
  Ranks ranks;
  while (!words.empty()) {
    const auto rank = take_number(words);
    if (!rank || *rank < 0) return {};
    ranks.push_back(static_cast<std::size_t>(*rank));
  }
  return ranks;
}

}  // namespace

Agent::Agent() : channel_(taken(STDIN_FILENO), taken(STDOUT_FILENO)), host_(*this, *this, signals_, true) {
  channel_.send("agent", std::to_string(kFramesVersion));
}

int Agent::run() {
  while (channel_.is_open() && !channel_.is_deaf() && !is_ended_ &&
         !(is_finished_ && !channel_.has_to_send()))
    step();
  return is_finished_ ? 0 : kFailed;
}

void Agent::step() {
  watched_.clear();
  watched_.push_back({signals_.descriptor(), POLLIN, 0});
  watched_.push_back({channel_.in(), POLLIN, 0});
  watched_.push_back({channel_.out(), POLLOUT, 0});
  watched_.push_back({input_waiting_ ? input_.get() : -1, POLLOUT, 0});
  host_.watch(watched_);
  if (::poll(watched_.data(), watched_.size(), patience_ms()) < 0 && errno != EINTR)
    tools::fail("poll", errno);
  if (watched_[2].revents != 0) channel_.send_rest();
  const pollfd* events = watched_.data() + 4;
  host_.serve(events);
  if (watched_[3].revents != 0) pass_input();
  if (watched_[0].revents != 0) take_signals();
  if (watched_[1].revents != 0) {
    for (const Frame& frame : channel_.receive()) {
      if (channel_.is_open() && !obey(frame)) channel_.close();
    }
  }
  if (channel_.is_open() && !pulse_.beat(channel_)) channel_.close();
}

int Agent::patience_ms() const {
  const std::uint64_t now = exs::monotonic_ns();
  if (pulse_.due_ns() == UINT64_MAX) return -1;
  return now >= pulse_.due_ns() ? 0 : static_cast<int>((pulse_.due_ns() - now) / 1'000'000 + 1);
}

void Agent::take_signals() {
  while (const auto arrival = signals_.take()) {
    if (arrival->signal != SIGCHLD) is_ended_ = true;
    int status = 0;
    for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG))
      host_.child_ended(pid, status);
  }
}

bool Agent::obey(const Frame& frame) {
  if (frame.word == "alive") return true;
  if (frame.word == "hold" || frame.word == "go") {
    is_held_ = frame.word == "hold";
    return true;
  }
  if (frame.word == "unread") return obey_numbers(frame.word, frame.bytes);
  if (!has_started_) return obey_before_start(frame);
  if (frame.word == "tell") return tell(frame.bytes);
  if (frame.word == "input") {
    take_input(frame.bytes);
  } else if (frame.word == "finish") {
    host_.finish();
    is_finished_ = true;
  } else {
    return obey_numbers(frame.word, frame.bytes);
  }
  return true;
}

bool Agent::obey_before_start(const Frame& frame) {
  if (!has_job_) return frame.word == "job" && begin(frame.bytes);
  if (frame.word == "line") {
    program_.first_line = frame.bytes;
  } else if (frame.word == "directory") {
    if (::chdir(frame.bytes.c_str()) != 0)
      cannot_start(host_, kFailed, frame.bytes + ": " + std::generic_category().message(errno));
  } else if (frame.word == "variable") {
    const std::size_t equals = frame.bytes.find('=');
    if (equals == std::string::npos) return false;
    ::setenv(frame.bytes.substr(0, equals).c_str(), frame.bytes.c_str() + equals + 1, 1);
  } else if (frame.word == "argument") {
    program_.arguments.push_back(frame.bytes);
  } else {
    const Ranks ranks = ranks_of(frame.bytes);
    if (frame.word != "start" || ranks.empty() || program_.arguments.empty()) return false;
    start(ranks);
  }
  return true;
}

bool Agent::begin(std::string_view words) {
  const auto version = take_number(words);
  const auto size = take_number(words);
  const auto is_tagged = take_number(words);
  const auto silence = take_number(words);
  has_job_ = version == kFramesVersion && size && *size > 0 && is_tagged && silence && *silence > 0;
  if (!has_job_) return false;
  program_.size = static_cast<std::size_t>(*size);
  program_.is_tagged = *is_tagged != 0;
  pulse_.set_silence(*silence);
  return true;
}

void Agent::start(const Ranks& ranks) {
  has_started_ = true;
  if (!can_start_) return;
  program_.name = program_.arguments.front();
  if (find_program(program_.name).empty())
    return cannot_start(host_, kNotFound, program_.name + ": not found in PATH");
  try {
    if (ranks.front() == 0) {
      // Rank 0 reads the bytes of "input" frames.
      int ends[2];
      if (::pipe2(ends, O_CLOEXEC) != 0) tools::fail("pipe", errno);
      const exs::UniqueFd read_end(ends[0]);
      input_ = exs::UniqueFd(ends[1]);
      ::fcntl(input_.get(), F_SETFL, O_NONBLOCK);
      ::dup2(read_end.get(), STDIN_FILENO);
    }
    host_.start(program_, ranks);
    const exs::UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ::dup2(nothing.get(), STDIN_FILENO);
  } catch (const tools::Failure& failure) {
    cannot_start(host_, kFailed, failure.what());
  }
}

bool Agent::tell(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return false;
  host_.send(ranks_of(bytes.substr(0, end)), std::make_shared<const std::string>(bytes.substr(end + 1)));
  return true;
}

bool Agent::obey_numbers(const std::string& word, std::string_view bytes) {
  const auto first = take_number(bytes);
  if (!first || *first < 0) return false;
  const auto second = take_number(bytes);
  if (word == "signal" && second) {
    host_.signal(static_cast<std::size_t>(*first), *second);
  } else if (word == "close") {
    host_.close(static_cast<std::size_t>(*first));
  } else if (word == "unread" && (*first == 1 || *first == 2)) {
    is_unread_[*first] = true;
  } else {
    return false;
  }
  return true;
}

void Agent::take_input(const std::string& bytes) {
  if (bytes.empty()) {
    input_.reset();
    return;
  }
  input_waiting_ = bytes;
  pass_input();
}

void Agent::pass_input() {
  if (!input_waiting_) return;
  const ssize_t count =
      input_.valid() ? ::write(input_.get(), input_waiting_->data(), input_waiting_->size()) : 0;
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count > 0) input_waiting_->erase(0, static_cast<std::size_t>(count));
  // Rank 0 does not read any more, so the input is dropped.
  if (count <= 0) input_.reset();
  if (count > 0 && !input_waiting_->empty()) return;
  input_waiting_.reset();
  channel_.send("took");
}

void Agent::heard(std::size_t rank, const std::string& line) {
  channel_.send("heard", std::to_string(rank) + " " + line);
}

void Agent::ended(std::size_t rank, int wait_status) {
  channel_.send("ended", std::to_string(rank) + " " + std::to_string(wait_status));
}

void Agent::lost(Host& /*host*/, const std::string& /*why*/) {}

void Agent::cannot_start(Host& /*host*/, int exit_status, const std::string& why) {
  can_start_ = false;
  channel_.send("cannot", std::to_string(exit_status) + " " + why);
}

void Agent::add(Stream stream, std::string lines) {
  if (!lines.empty() && is_read(stream))
    channel_.send("out", std::to_string(static_cast<int>(stream)) + " " + lines);
}

bool Agent::has_room() const {
  return !is_held_ && channel_.bytes_to_send() < kBytesWaitingMax;
}

bool Agent::is_read(Stream stream) const {
  return !is_unread_[static_cast<int>(stream)];
}

}  // namespace run
