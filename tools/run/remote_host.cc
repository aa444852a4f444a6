// SPDX-License-Identifier: BSD-2-Clause
#include "tools/run/remote_host.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/environment.h"
#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/run/exit_status.h"

namespace run {
namespace {

constexpr const char* kRshVariable = "EXS_RUN_RSH";
constexpr const char* kSilenceVariable = "EXS_RUN_SILENCE";
constexpr const char* kDefaultRsh = "ssh -T -o BatchMode=yes";
constexpr int kDefaultSilenceS = 60;
constexpr int kSilenceMaxS = 86400;
constexpr std::uint64_t kPatienceNs = 5 * tools::kNsPerSecond;  // for an agent to end
constexpr std::size_t kPartBytes = 256 << 10;                   // of lines in one frame
constexpr std::size_t kInputBytes = 32 << 10;

int silence_s() {
  const char* const text = exs::unless_empty(std::getenv(kSilenceVariable));
  if (text == nullptr) return kDefaultSilenceS;
  std::string_view rest(text);
  const auto seconds = take_number(rest);
  if (!seconds || *seconds < 1 || *seconds > kSilenceMaxS || !rest.empty())
    throw tools::Failure(std::string(kSilenceVariable) + " is \"" + text +
                         "\", and has to be seconds from 1 to " + std::to_string(kSilenceMaxS));
  return *seconds;
}

// Quotes the word for the remote shell.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? "'\\''" : std::string(1, letter);
  return text + "'";
}

// The agent of this host needs no ssh.
bool is_this_host(const std::string& name) {
  return name == "localhost";
}

std::vector<std::string> command_for(const std::string& host, const std::string& agent) {
  if (is_this_host(host)) return {"/proc/self/exe", "--agent"};
  const char* const given = exs::unless_empty(std::getenv(kRshVariable));
  std::istringstream words(given == nullptr ? kDefaultRsh : given);
  std::vector<std::string> command;
  for (std::string word; words >> word;) command.push_back(word);
  if (command.empty()) throw tools::Failure(std::string(kRshVariable) + " names no program");
  command.push_back(host);
  command.push_back(quoted(agent) + " --agent");
  return command;
}

struct Pipe {
  exs::UniqueFd read_end, write_end;
};
Pipe make_agent_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) tools::fail("cannot start an agent", errno);
  return {exs::UniqueFd(ends[0]), exs::UniqueFd(ends[1])};
}

[[noreturn]] void become(std::vector<std::string> command, const Signals& signals, pid_t launcher, int in,
                         int out) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != launcher) ::_exit(1);
  // A new process group keeps the terminal's signals from ssh, which would end. exs-run passes them on.
  ::setpgid(0, 0);
  if (::dup2(in, STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0) ::_exit(kNotFound);
  signals.restore();
  std::vector<char*> pointers;
  for (std::string& word : command) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  ::dprintf(STDERR_FILENO, "exs-run: cannot execute %s: %s\n", pointers[0], std::strerror(errno));
  ::_exit(kNotFound);
}

std::string words_of(const Ranks& ranks) {
  std::string text;
  for (const std::size_t rank : ranks) text += (text.empty() ? "" : " ") + std::to_string(rank);
  return text;
}

// The variables that processes on other hosts get.
bool is_passed_on(std::string_view variable) {
  const bool is_ours = variable.starts_with("EXS_") || variable.starts_with("EXM_");
  return is_ours && !variable.starts_with("EXS_RUN_") && !variable.starts_with("EXM_BOOT_FD=") &&
         !variable.starts_with("EXM_RANK=") && !variable.starts_with("EXM_SIZE=");
}

}  // namespace

RemoteHost::Started RemoteHost::start_agent(const std::vector<std::string>& command, const Signals& signals) {
  Pipe down = make_agent_pipe();
  Pipe up = make_agent_pipe();
  const pid_t launcher = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) tools::fail("cannot start an agent", errno);
  if (pid == 0) become(command, signals, launcher, down.read_end.get(), up.write_end.get());
  return {pid, FrameChannel(std::move(up.read_end), std::move(down.write_end))};
}

RemoteHost::RemoteHost(HostEvents& events, OutputSink& output, const Signals& signals, HostName name,
                       const std::string& agent)
    : events_(events),
      output_(output),
      name_(std::move(name)),
      agent_(start_agent(command_for(name_.name, agent), signals)) {}

RemoteHost::~RemoteHost() {
  agent_.channel.close();
  if (agent_.pid == 0) return;
  ::kill(agent_.pid, SIGKILL);
  ::waitpid(agent_.pid, nullptr, 0);
}

void RemoteHost::start(const Program& program, const Ranks& ranks) {
  const int silence = silence_s();
  std::ostringstream job;
  job << kFramesVersion << ' ' << program.size << ' ' << (program.is_tagged ? 1 : 0) << ' ' << silence;
  agent_.channel.send("job", job.str());
  agent_.channel.send("line", program.first_line);
  std::error_code error;
  agent_.channel.send("directory", std::filesystem::current_path(error).string());
  for (char** each = environ; *each != nullptr; ++each) {
    if (is_passed_on(*each)) agent_.channel.send("variable", *each);
  }
  for (const std::string& argument : program.arguments) agent_.channel.send("argument", argument);
  agent_.channel.send("start", words_of(ranks));
  pulse_.set_silence(silence);
  has_rank_0_ = wants_input_ = std::find(ranks.begin(), ranks.end(), 0) != ranks.end();
}

void RemoteHost::send(const Ranks& ranks, const Channel::Lines& lines) {
  const std::string to = words_of(ranks) + "\n";
  for (std::string_view rest = *lines; !rest.empty();) {
    std::size_t bytes = rest.size();
    if (bytes > kPartBytes) bytes = rest.rfind('\n', kPartBytes) + 1;
    agent_.channel.send("tell", to + std::string(rest.substr(0, bytes)));
    rest.remove_prefix(bytes);
  }
}

void RemoteHost::signal(std::size_t rank, int signal) {
  agent_.channel.send("signal", std::to_string(rank) + " " + std::to_string(signal));
}

void RemoteHost::close(std::size_t rank) {
  agent_.channel.send("close", std::to_string(rank));
}

void RemoteHost::finish() {
  if (std::exchange(is_finished_, true)) return;
  agent_.channel.send("finish");
  kill_at_ns_ = exs::monotonic_ns() + kPatienceNs;
}

std::string RemoteHost::awaited() const {
  return has_started_ || !agent_.channel.is_open() ? "" : name_.name;
}

// Nothing of the job runs there, so its ssh has no time left.
void RemoteHost::interrupt() {
  if (awaited().empty()) return;
  lose("has not answered");
  kill_at_ns_ = 0;
}

// Three descriptors: from the agent, to the agent, and the input of rank 0.
void RemoteHost::watch(std::vector<pollfd>& watched) {
  tell_room();
  watched.push_back({agent_.channel.in(), POLLIN, 0});
  watched.push_back({agent_.channel.out(), POLLOUT, 0});
  watched.push_back(
      {wants_input_ && has_started_ && agent_.channel.is_open() ? STDIN_FILENO : -1, POLLIN, 0});
}

void RemoteHost::tell_room() {
  if (const bool is_full = !output_.has_room(); is_full != is_held_) {
    is_held_ = is_full;
    agent_.channel.send(is_full ? "hold" : "go");
  }
  for (const Stream stream : {Stream::kOut, Stream::kError}) {
    const int number = static_cast<int>(stream);
    if (output_.is_read(stream) || std::exchange(is_unread_[number], true)) continue;
    agent_.channel.send("unread", std::to_string(number));
  }
}

void RemoteHost::serve(const pollfd*& events) {
  const pollfd* const own = std::exchange(events, events + 3);
  if (own[1].revents != 0) agent_.channel.send_rest();
  if (own[0].revents != 0) hear();
  if (own[2].revents != 0 && agent_.channel.is_open()) read_input();
  if (agent_.channel.is_open() && !pulse_.beat(agent_.channel)) lose("has been silent for too long");
  if (agent_.pid > 0 && exs::monotonic_ns() >= kill_at_ns_) {
    kill_at_ns_ = UINT64_MAX;
    agent_.channel.close();
    ::kill(agent_.pid, SIGKILL);
  }
}

std::uint64_t RemoteHost::due_ns() const {
  return std::min(agent_.channel.is_open() ? pulse_.due_ns() : UINT64_MAX,
                  agent_.pid > 0 ? kill_at_ns_ : UINT64_MAX);
}

void RemoteHost::hear() {
  for (const Frame& frame : agent_.channel.receive()) {
    if (obey(frame)) continue;
    lose("says what means nothing here: is its exs-run of another version?");
    return;
  }
  if (agent_.channel.is_damaged())
    lose("says what means nothing here: does its shell write something when it starts?");
  else if (!agent_.channel.is_open())
    lose("has gone");
}

bool RemoteHost::obey(const Frame& frame) {
  std::string_view rest = frame.bytes;
  if (frame.word == "alive" && has_started_) return true;
  if (frame.word == "took" && has_started_) {
    wants_input_ = has_rank_0_;
    return true;
  }
  const auto number = take_number(rest);
  if (!number || *number < 0) return false;
  const auto rank = static_cast<std::size_t>(*number);
  if (frame.word == "agent" && !has_started_) return has_started_ = *number == kFramesVersion;
  if (!has_started_) return false;
  if (frame.word == "heard") {
    events_.heard(rank, std::string(rest));
  } else if (frame.word == "out" && (*number == 1 || *number == 2)) {
    output_.add(static_cast<Stream>(*number), std::string(rest));
  } else if (frame.word == "cannot") {
    events_.cannot_start(*this, *number, "host " + name_.name + ": " + std::string(rest));
  } else if (const auto status = take_number(rest); frame.word == "ended" && status) {
    events_.ended(rank, *status);
  } else {
    return false;
  }
  return true;
}

void RemoteHost::lose(const std::string& why) {
  agent_.channel.close();
  kill_at_ns_ = std::min(kill_at_ns_, exs::monotonic_ns() + kPatienceNs);
  if (!is_finished_) events_.lost(*this, "host " + name_.name + " " + why);
}

// Reads one piece, after rank 0 has taken the one before.
void RemoteHost::read_input() {
  std::array<char, kInputBytes> some;
  const ssize_t count = ::read(STDIN_FILENO, some.data(), some.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  wants_input_ = false;
  if (count <= 0) has_rank_0_ = false;
  agent_.channel.send("input", {some.data(), count <= 0 ? 0 : static_cast<std::size_t>(count)});
}

bool RemoteHost::child_ended(pid_t pid, int /*wait_status*/) {
  if (pid != agent_.pid) return false;
  agent_.pid = 0;
  // The channel still has what the agent sent before.
  if (agent_.channel.is_open()) hear();
  if (agent_.channel.is_open()) lose("has gone");
  return true;
}

}  // namespace run
