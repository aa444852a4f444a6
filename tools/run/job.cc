// SPDX-License-Identifier: BSD-2-Clause
#include "tools/run/job.h"

#include <fcntl.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
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

#include "base/hex.h"
#include "base/random.h"
#include "base/unique_fd.h"
#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/common/units.h"
#include "tools/run/exit_status.h"
#include "tools/run/local_host.h"
#include "tools/run/missing_file.h"

namespace run {
namespace {

constexpr int kSignalled = 128;
constexpr std::uint64_t kPatienceNs = 2 * tools::kNsPerSecond;  // between SIGTERM and SIGKILL

// Otherwise one of our sockets could become a process's standard output.
void fill_standard_descriptors() {
  int number = 0;
  do {
    number = ::open("/dev/null", O_RDWR);
  } while (number >= 0 && number <= STDERR_FILENO);
  if (number > STDERR_FILENO) ::close(number);
}

std::string first_line(std::size_t hosts) {
  const auto key = exs::draw<std::array<std::byte, 16>>();
  if (!key) tools::fail("cannot draw a key", key.error().error());
  return "job 2 " + exs::hex_of(*key) + " " + std::to_string(hosts) + "\n";
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

std::string name_of(std::size_t rank) {
  return "rank " + std::to_string(rank);
}

// Returns false if this cannot be determined.
bool is_loopback_down() {
  const exs::UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  return ::ioctl(socket.get(), SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) == 0;
}

}  // namespace

Job::Job(JobSettings settings) : settings_(std::move(settings)), exchange_(settings_.size) {}

Job::~Job() = default;

int Job::run() {
  start();
  while (!is_over()) step();
  return exit_status_.value_or(0);
}

bool Job::is_over() const {
  const auto host_is_over = [](const auto& host) { return host->is_over(); };
  return running_ == 0 && output_.is_empty() && std::all_of(hosts_.begin(), hosts_.end(), host_is_over);
}

void Job::start() {
  fill_standard_descriptors();
  Program program{settings_.path, settings_.arguments, settings_.size, settings_.is_tagged,
                  first_line(std::max<std::size_t>(settings_.hosts.size(), 1))};
  if (settings_.timeline != nullptr) settings_.timeline->resize(settings_.size);
  members_.reserve(settings_.size);
  running_ = settings_.size;
  if (!settings_.hosts.empty()) return start_on_hosts(program);
  if (settings_.size > 1 && is_loopback_down())
    output_.say(
        "the loopback interface is down, and ranks of one host find each other by it (cure: ip link set lo "
        "up)");
  hosts_.push_back(std::make_unique<LocalHost>(*this, output_, signals_, true));
  Ranks ranks;
  for (std::size_t rank = 0; rank < settings_.size; ++rank) {
    ranks.push_back(rank);
    members_.push_back({rank, hosts_.back().get()});
  }
  hosts_.back()->start(program, ranks);
}

// Fills each host before the next.
void Job::start_on_hosts(const Program& program) {
  begun_ns_ = exs::monotonic_ns();
  waiting_.emplace();
  std::size_t rank = 0;
  for (const HostName& name : settings_.hosts) {
    hosts_.push_back(std::make_unique<RemoteHost>(*this, output_, signals_, name, settings_.agent));
    Ranks ranks;
    for (std::size_t slot = 0; slot < name.slots; ++slot, ++rank) {
      ranks.push_back(rank);
      members_.push_back({rank, hosts_.back().get()});
      if (settings_.timeline != nullptr) settings_.timeline->set_host(rank, name.name);
      started(rank);
    }
    hosts_.back()->start(program, ranks);
  }
}

void Job::show_awaited_hosts() {
  constexpr std::size_t kNamesMax = 3;
  std::vector<std::string> awaited;
  for (const auto& host : hosts_) {
    if (std::string name = host->awaited(); !name.empty()) awaited.push_back(std::move(name));
  }
  if (awaited.empty()) return waiting_.reset();
  const std::uint64_t at_ns = exs::monotonic_ns();
  if (at_ns < waiting_->due_ns()) return;
  std::string names;
  for (std::size_t i = 0; i < std::min(awaited.size(), kNamesMax); ++i)
    names += (i == 0 ? "" : ", ") + awaited[i];
  if (awaited.size() > kNamesMax) names += " and " + std::to_string(awaited.size() - kNamesMax) + " more";
  waiting_->print(at_ns, tools::format("exs-run: %.0f s, waiting for %s",
                                       tools::seconds_of(at_ns - begun_ns_), names.c_str()));
}

void Job::step() {
  if (waiting_) show_awaited_hosts();
  watched_.clear();
  watched_.push_back({signals_.descriptor(), POLLIN, 0});
  watched_.push_back({output_.descriptor(), POLLOUT, 0});
  for (const auto& host : hosts_) host->watch(watched_);
  if (::poll(watched_.data(), watched_.size(), patience_ms()) < 0 && errno != EINTR)
    tools::fail("poll", errno);
  if (watched_[1].revents != 0) {
    if (waiting_) waiting_->clear();
    output_.write();
  }
  const pollfd* events = watched_.data() + 2;
  for (const auto& host : hosts_) host->serve(events);
  if (watched_[0].revents != 0) take_signals();
  if (exs::monotonic_ns() >= kill_at_ns_) {
    kill_at_ns_ = UINT64_MAX;
    signal_all(SIGKILL);
  }
}

int Job::patience_ms() const {
  std::uint64_t due_ns = std::min(kill_at_ns_, waiting_ ? waiting_->due_ns() : UINT64_MAX);
  for (const auto& host : hosts_) due_ns = std::min(due_ns, host->due_ns());
  if (due_ns == UINT64_MAX) return -1;
  const std::uint64_t now = exs::monotonic_ns();
  return now >= due_ns ? 0 : static_cast<int>((due_ns - now) / 1'000'000 + 1);
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
  for (const Member& member : members_) {
    if (member.is_running && !(arrival.is_of_terminal && member.host->shares_terminal()))
      signal(member, arrival.signal);
  }
  if (running_ == 0) output_.discard();  // that is all that we still wait for
  interrupt_awaited_hosts(arrival.signal);
}

void Job::interrupt_awaited_hosts(int signal) {
  for (const auto& host : hosts_) {
    if (host->awaited().empty()) continue;
    settle(kSignalled + signal);
    host->interrupt();
  }
}

// The program before exec may have left us other children.
void Job::reap() {
  int status = 0;
  for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
    for (const auto& host : hosts_) {
      if (host->child_ended(pid, status)) break;
    }
  }
}

void Job::heard(std::size_t rank, const std::string& line) {
  if (rank >= members_.size()) return;
  Member& member = members_[rank];
  if (!member.is_heard || obey(member, line)) return;
  output_.say(name_of(rank) + " says what means nothing here: is it of another version of exs?");
  leave(member, Standing::lost);
  member.is_heard = false;
  member.host->close(rank);
}

bool Job::obey(Member& member, std::string_view line) {
  const std::size_t space = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, space);
  const std::string rest(line.substr(std::min(space + 1, line.size())));
  if (word == "card" && exchange_.put(member.rank, rest)) {
    note(member.rank, Timeline::Event::joined);
    finish_exchange();
  } else if (word == "leave") {
    leave(member, Standing::left);
  } else if (word == "lost") {
    leave(member, Standing::lost);
  } else if (const auto code = number_of(rest); word == "abort" && code) {
    if (!is_ending_) output_.say(name_of(member.rank) + " ends the job with " + rest);
    settle(*code & 0xff);
    end_others(&member);
  } else if (word == "unexecuted" && code) {
    if (!is_ending_) output_.say(words_of_failed_start(*code));
    settle(*code == ENOENT ? kNotFound : kCannotExecute);
    end_others(&member);
  } else {
    return false;
  }
  return true;
}

// Files of other hosts cannot be seen from here.
std::string Job::words_of_failed_start(int error) const {
  if (settings_.hosts.empty()) return words_of_failed_execution(settings_.path, error);
  return "cannot execute " + settings_.path + ": " + std::strerror(error);
}

void Job::leave(Member& member, Standing standing) {
  if (member.standing != Standing::in_job) return;
  member.standing = standing;
  if (standing == Standing::left) note(member.rank, Timeline::Event::left);
  exchange_.leave_out(member.rank);
  if (standing == Standing::lost) tell("death " + std::to_string(member.rank) + "\n", &member);
  finish_exchange();
}

void Job::ended(std::size_t rank, int wait_status) {
  if (rank >= members_.size() || !members_[rank].is_running) return;
  Member& member = members_[rank];
  note_end(member, end_in_words(wait_status), exit_status_of(wait_status) == 0);
  stop_counting(member);
  judge(member, wait_status);
}

// When the last one has ended, the hosts have finished.
void Job::stop_counting(Member& member) {
  member.is_running = false;
  --running_;
  leave(member, Standing::lost);
  if (running_ > 0) return;
  for (const auto& host : hosts_) host->finish();
}

void Job::lost(Host& host, const std::string& why) {
  const auto runs_there = [&host](const Member& member) { return member.host == &host && member.is_running; };
  if (std::none_of(members_.begin(), members_.end(), runs_there)) return;
  const bool ends_all = !settings_.keeps_going && !is_ending_;
  output_.say(why + (ends_all ? "; ending the others" : ""));
  if (!is_ending_) settle(kFailed);
  give_up(host);
  if (ends_all) end_others(nullptr);
}

void Job::cannot_start(Host& host, int exit_status, const std::string& why) {
  if (!is_ending_) output_.say(why);
  settle(exit_status);
  give_up(host);
  end_others(nullptr);
}

void Job::give_up(const Host& host) {
  for (Member& member : members_) {
    if (member.host != &host || !member.is_running) continue;
    note_end(member, "its host was lost", false);
    stop_counting(member);
  }
}

void Job::note(std::size_t rank, Timeline::Event event, const std::string& words) {
  if (settings_.timeline != nullptr) settings_.timeline->note(rank, event, words);
}

void Job::note_end(const Member& member, const std::string& words, bool is_good) {
  if (settings_.timeline != nullptr) settings_.timeline->note_end(member.rank, words, is_good);
}

void Job::judge(const Member& member, int wait_status) {
  const int status = exit_status_of(wait_status);
  if (status == 0) return;
  if (!is_ending_) settle(status);
  if (member.standing == Standing::left || is_ending_) return;
  const bool ends_all = !settings_.keeps_going && running_ > 0;
  if (!is_interrupted_)
    output_.say(name_of(member.rank) + " " + end_in_words(wait_status) +
                (ends_all ? "; ending the others" : ""));
  if (ends_all) end_others(nullptr);
}

void Job::tell(const std::string& lines, const Member* besides) {
  const auto shared = std::make_shared<const std::string>(lines);
  for (const auto& host : hosts_) {
    Ranks ranks;
    for (const Member& member : members_) {
      if (member.host == host.get() && &member != besides && member.standing == Standing::in_job)
        ranks.push_back(member.rank);
    }
    if (!ranks.empty()) host->send(ranks, shared);
  }
}

void Job::finish_exchange() {
  const auto cards = exchange_.take_complete();
  if (!cards) return;
  tell(*cards);
  for (const Member& member : members_) {
    if (member.standing == Standing::in_job) note(member.rank, Timeline::Event::met);
  }
}

void Job::settle(int exit_status) {
  if (!exit_status_) exit_status_ = exit_status;
}

void Job::end_others(const Member* besides) {
  if (std::exchange(is_ending_, true)) return;
  signal_all(SIGTERM, besides);
  kill_at_ns_ = exs::monotonic_ns() + kPatienceNs;
}

void Job::signal(const Member& member, int signal) {
  member.host->signal(member.rank, signal);
  note(member.rank, Timeline::Event::signalled, ::strsignal(signal));
}

void Job::signal_all(int signal, const Member* besides) {
  for (const Member& member : members_) {
    if (&member != besides && member.is_running) this->signal(member, signal);
  }
}

}  // namespace run
