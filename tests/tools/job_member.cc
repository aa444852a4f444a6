// A process of a job, for tests of exs-run -n: does what its arguments say, one after the other.
//
//   key          prints the job's key
//   card=TEXT    publishes it and prints those of all: "RANK cards A,B,C"
//   deaths=N     waits until so many deaths are told, and prints whose: "RANK deaths 1,3"
//   leave        leaves the job
//   abort=CODE   ends the job, and itself with that status
//   exit=STATUS  kill=SIGNAL  ends
//   ignore=SIGNAL
//   wait         until a signal ends it
//   pid          prints "pid PID"
//   lines=N      prints N lines, each by two writes and some long, every other to the standard error: "RANK line NUMBER xxx"
//   touch=PATH   opens that for writing, and closes it
//   again=STEPS  becomes this program once more, with these steps (words apart)
//   RANK:STEP    a step of that rank alone
//
// Status 90: it found no job, 91: something in it failed, which it tells.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "src/boot/boot.h"

namespace {

constexpr int kNoJob = 90;
constexpr int kFailed = 91;

[[noreturn]] void fail(const char* what, int error) {
  std::fprintf(stderr, "job member: %s: %d\n", what, error);
  std::exit(kFailed);
}

void write_all(int descriptor, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = ::write(descriptor, text.data() + at, text.size() - at);
    if (count < 0) fail("write", errno);
    at += static_cast<std::size_t>(count);
  }
}

template <typename Items>
std::string joined(const Items& items) {
  std::ostringstream text;
  const char* comma = "";
  for (const auto& item : items) {
    text << comma << item;
    comma = ",";
  }
  return text.str();
}

class Member {
 public:
  Member(std::unique_ptr<exs::boot::Boot> boot, const char* program)
      : boot_(std::move(boot)), program_(program), rank_(std::to_string(boot_->rank())) {}

  void step(const std::string& whole) {
    const std::size_t colon = whole.find(':');
    if (colon == std::string::npos) return perform(whole);
    if (whole.substr(0, colon) == rank_) perform(whole.substr(colon + 1));
  }

 private:
  void perform(const std::string& step) {
    const std::size_t equals = std::min(step.find('='), step.size());
    const std::string word = step.substr(0, equals);
    const std::string value = step.substr(std::min(equals + 1, step.size()));
    if (word == "key") return print_key();
    if (word == "card") return exchange(value);
    if (word == "deaths") return wait_for_deaths(std::stoul(value));
    if (word == "leave") return boot_->leave();
    if (word == "abort") boot_->abort(std::stoi(value));
    if (word == "abort" || word == "exit") ::_exit(std::stoi(value));
    if (word == "kill") ::raise(std::stoi(value));
    if (word == "ignore") return static_cast<void>(std::signal(std::stoi(value), SIG_IGN));
    if (word == "pid") return print("pid " + std::to_string(::getpid()));
    if (word == "lines") return print_lines(std::stoul(value));
    if (word == "touch") return touch(value);
    if (word == "again") return become_again(value);
    if (word != "wait") fail(step.c_str(), EINVAL);
    for (;;) ::pause();
  }

  static void print(const std::string& line) { write_all(STDOUT_FILENO, line + "\n"); }

  void print_key() const {
    std::string digits;
    for (const unsigned byte : boot_->key()) {
      char two[3];
      std::snprintf(two, sizeof two, "%02x", byte);
      digits += two;
    }
    print("key " + digits);
  }

  void exchange(const std::string& card) {
    const auto cards = boot_->exchange(card);
    if (!cards) fail("exchange", cards.error().error());
    print(rank_ + " cards " + joined(*cards));
  }

  void wait_for_deaths(std::size_t count) {
    std::vector<int> all = boot_->deaths();
    while (all.size() < count) {
      pollfd watched{boot_->descriptor(), POLLIN, 0};
      if (watched.fd < 0) fail("deaths", ECONNRESET);
      ::poll(&watched, 1, -1);
      for (const int rank : boot_->deaths()) all.push_back(rank);
    }
    std::sort(all.begin(), all.end());
    print(rank_ + " deaths " + joined(all));
  }

  void print_lines(std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      const std::string line =
          rank_ + " line " + std::to_string(i) + " " + std::string(i % 10 == 0 ? 9000 : 30, 'x');
      const int descriptor = i % 2 == 0 ? STDOUT_FILENO : STDERR_FILENO;
      write_all(descriptor, line.substr(0, line.size() / 2));
      write_all(descriptor, line.substr(line.size() / 2) + "\n");
    }
  }

  static void touch(const std::string& path) {
    const int file = ::open(path.c_str(), O_WRONLY);
    if (file < 0) fail("touch", errno);
    ::close(file);
  }

  void become_again(const std::string& steps) {
    std::istringstream words(steps);
    std::vector<std::string> arguments{program_};
    for (std::string word; words >> word;) arguments.push_back(word);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    ::execv(program_, pointers.data());
    fail("again", errno);
  }

  const std::unique_ptr<exs::boot::Boot> boot_;
  const char* const program_;
  const std::string rank_;
};

}  // namespace

int main(int argc, char** argv) {
  auto found = exs::boot::find_boot();
  if (!found) fail("find_boot", found.error().error());
  if (*found == nullptr) {
    std::puts("no job");
    return kNoJob;
  }
  Member member(std::move(*found), argv[0]);
  for (int i = 1; i < argc; ++i) member.step(argv[i]);
}
