#include "tools/run/job.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include "tools/common/clock.h"
#include "tools/common/descriptor_limit.h"
#include "tools/common/failure.h"

namespace run {
namespace {

constexpr int kCannotExecute = 126;  // as shells say it
constexpr int kNotFound = 127;
constexpr int kSignalled = 128;
constexpr std::uint64_t kPatienceNs = 2 * tools::kNsPerSecond;  // between SIGTERM and SIGKILL
constexpr std::size_t kDescriptorsOfMember = 3;
constexpr std::size_t kDescriptorsOfOurs = 32;  // more than there are, also while a process is started

// Else a socket of ours would be a process's standard output.
void fill_standard_descriptors() {
  int number = 0;
  do {
    number = ::open("/dev/null", O_RDWR);
  } while (number >= 0 && number <= STDERR_FILENO);
  if (number > STDERR_FILENO) ::close(number);
}

// Room for so many processes. Returns the limit as it was.
rlimit make_room(std::size_t size) {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) != 0) tools::fail("getrlimit", errno);
  const std::uint64_t limit = tools::raise_descriptor_limit();
  const std::uint64_t needed = size * kDescriptorsOfMember + kDescriptorsOfOurs;
  if (limit < needed)
    throw tools::Failure(std::to_string(size) + " processes need " + std::to_string(needed) +
                         " descriptors here, and the limit is " + std::to_string(limit) + " (ulimit -Hn)");
  return before;
}

std::string first_line() {
  std::array<unsigned char, 16> key;
  if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size()))
    tools::fail("getrandom", errno);
  constexpr const char* kDigits = "0123456789abcdef";
  std::string line = "job 1 ";
  for (const unsigned char byte : key) (line += kDigits[byte >> 4U]) += kDigits[byte & 15U];
  return line + "\n";
}

std::optional<int> number_of(std::string_view word) {
  int number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

int exit_status_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? kSignalled + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

std::string end_in_words(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return "ended with status " + std::to_string(WEXITSTATUS(wait_status));
  const int signal = WTERMSIG(wait_status);
  return "was ended by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

std::string name_of(const Member& member) {
  return "rank " + std::to_string(member.rank);
}

}  // namespace

Job::Job(JobSettings settings) : settings_(std::move(settings)), exchange_(settings_.size) {}

Job::~Job() {
  signal_all(SIGKILL);
  for (const Member& member : members_) {
    if (member.pid > 0) ::waitpid(member.pid, nullptr, 0);
  }
}

int Job::run() {
  start();
  while (running_ > 0 || !output_.is_empty()) step();
  return exit_status_.value_or(0);
}

void Job::start() {
  fill_standard_descriptors();
  const MemberProgram program{settings_.path, settings_.arguments, settings_.size, settings_.is_tagged,
                              make_room(settings_.size)};
  const auto line = std::make_shared<const std::string>(first_line());
  members_.reserve(settings_.size);
  for (std::size_t rank = 0; rank < settings_.size; ++rank) {
    members_.push_back(start_member(program, rank, signals_));
    ++running_;
    members_.back().channel.send(line);
  }
}

// Each member has three places behind the first two.
void Job::watch() {
  watched_.clear();
  watched_.push_back({signals_.descriptor(), POLLIN, 0});
  watched_.push_back({output_.descriptor(), POLLOUT, 0});
  for (Member& member : members_) {
    const bool has_to_send = member.channel.has_to_send();
    watched_.push_back(
        {member.channel.descriptor(), static_cast<short>(has_to_send ? POLLIN | POLLOUT : POLLIN), 0});
    for (LinePipe* const pipe : {&member.out, &member.error}) {
      if (!output_.is_read(pipe->stream())) pipe->close();
      watched_.push_back({output_.has_room() ? pipe->descriptor() : -1, POLLIN, 0});
    }
  }
}

void Job::step() {
  watch();
  if (::poll(watched_.data(), watched_.size(), patience_ms()) < 0 && errno != EINTR)
    tools::fail("poll", errno);
  if (watched_[1].revents != 0) output_.write();
  const pollfd* events = watched_.data() + 2;
  for (Member& member : members_) serve(member, std::exchange(events, events + kDescriptorsOfMember));
  if (watched_[0].revents != 0) take_signals();
  if (kill_at_ns_ != 0 && tools::now_ns() >= kill_at_ns_) {
    kill_at_ns_ = 0;
    signal_all(SIGKILL);
  }
}

int Job::patience_ms() const {
  if (kill_at_ns_ == 0) return -1;
  const std::uint64_t now = tools::now_ns();
  return now >= kill_at_ns_ ? 0 : static_cast<int>((kill_at_ns_ - now) / 1'000'000 + 1);
}

void Job::serve(Member& member, const pollfd* events) {
  if ((events[0].revents & POLLOUT) != 0) member.channel.send_rest();
  if ((events[0].revents & ~POLLOUT) != 0) hear(member);
  if (events[1].revents != 0) member.out.pass_on(output_);
  if (events[2].revents != 0) member.error.pass_on(output_);
}

void Job::take_signals() {
  while (const auto arrival = signals_.take()) {
    if (arrival->signal == SIGCHLD)
      reap();
    else
      pass_on(*arrival);
  }
}

void Job::pass_on(Signals::Arrival arrival) {
  is_interrupted_ = true;
  if (!arrival.is_of_terminal) signal_all(arrival.signal);
  if (running_ == 0) output_.discard();  // which is all that we still wait for
}

// What we were before we were exs-run may have left us other children.
void Job::reap() {
  int status = 0;
  for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
    if (Member* const member = member_of(pid)) ended(*member, status);
  }
}

Member* Job::member_of(pid_t pid) {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [pid](const Member& member) { return member.pid == pid; });
  return found == members_.end() ? nullptr : &*found;
}

void Job::hear(Member& member) {
  for (const std::string& line : member.channel.receive()) {
    if (obey(member, line)) continue;
    output_.say(name_of(member) + " says what means nothing here: is it of another version of exs?");
    leave(member, Standing::lost);
    member.channel.close();
    return;
  }
}

bool Job::obey(Member& member, std::string_view line) {
  const std::size_t space = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, space);
  const std::string rest(line.substr(std::min(space + 1, line.size())));
  if (word == "card" && exchange_.put(member.rank, rest)) {
    finish_exchange();
  } else if (word == "leave") {
    leave(member, Standing::left);
  } else if (word == "lost") {
    leave(member, Standing::lost);
  } else if (const auto code = number_of(rest); word == "abort" && code) {
    if (!is_ending_) output_.say(name_of(member) + " ends the job with " + rest);
    settle(*code & 0xff);
    end_others(&member);
  } else if (word == "unexecuted" && code) {
    if (!is_ending_) output_.say("cannot execute " + settings_.path + ": " + std::strerror(*code));
    settle(*code == ENOENT ? kNotFound : kCannotExecute);
    end_others(&member);
  } else {
    return false;
  }
  return true;
}

void Job::leave(Member& member, Standing standing) {
  if (member.standing != Standing::in_job) return;
  member.standing = standing;
  exchange_.leave_out(member.rank);
  if (standing == Standing::lost) tell("death " + std::to_string(member.rank) + "\n", &member);
  finish_exchange();
}

void Job::ended(Member& member, int wait_status) {
  member.pid = 0;
  --running_;
  member.out.pass_on_rest(output_);
  member.error.pass_on_rest(output_);
  hear(member);
  member.channel.close();
  leave(member, Standing::lost);
  judge(member, wait_status);
  if (running_ > 0) return;
  for (Member& each : members_) {
    each.out.finish(output_);
    each.error.finish(output_);
  }
}

void Job::judge(const Member& member, int wait_status) {
  const int status = exit_status_of(wait_status);
  if (status == 0) return;
  if (!is_ending_) settle(status);
  if (member.standing == Standing::left || is_ending_) return;
  const bool ends_all = !settings_.keeps_going && running_ > 0;
  if (!is_interrupted_)
    output_.say(name_of(member) + " " + end_in_words(wait_status) + (ends_all ? "; ending the others" : ""));
  if (ends_all) end_others(nullptr);
}

void Job::tell(const std::string& lines, const Member* besides) {
  const auto shared = std::make_shared<const std::string>(lines);
  for (Member& member : members_) {
    if (&member != besides && member.standing == Standing::in_job) member.channel.send(shared);
  }
}

void Job::finish_exchange() {
  if (const auto cards = exchange_.take_complete()) tell(*cards);
}

void Job::settle(int exit_status) {
  if (!exit_status_) exit_status_ = exit_status;
}

void Job::end_others(const Member* besides) {
  if (std::exchange(is_ending_, true)) return;
  signal_all(SIGTERM, besides);
  kill_at_ns_ = tools::now_ns() + kPatienceNs;
}

void Job::signal_all(int signal, const Member* besides) {
  for (const Member& member : members_) {
    if (&member != besides && member.pid > 0) ::kill(member.pid, signal);
  }
}

}  // namespace run
