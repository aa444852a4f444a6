// Kills one of two connected programs at each step of its work: first with plain TCP, then with a preloaded
// library. The survivor may see only what it sees with TCP. README.md has the details.
// SPDX-License-Identifier: BSD-2-Clause
#include <spawn.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "tests/sockets/kill/actor.h"
#include "tests/sockets/kill/round.h"

namespace killing {
namespace {

constexpr unsigned kRoundSeconds = 30;

template <typename T>
bool transfer(ssize_t (*move)(int, void*, std::size_t), int channel, T& value) {
  auto* place = reinterpret_cast<char*>(&value);
  for (std::size_t done = 0; done < sizeof value;) {
    const ssize_t moved = move(channel, place + done, sizeof value - done);
    if (moved <= 0) return false;
    done += static_cast<std::size_t>(moved);
  }
  return true;
}
template <typename T>
bool read_all(int channel, T& value) {
  return transfer(&read, channel, value);
}
template <typename T>
bool write_all(int channel, T& value) {
  return transfer(
      +[](int to, void* from, std::size_t count) { return send(to, from, count, MSG_NOSIGNAL); }, channel,
      value);
}

// Runs the process that plays rounds, plain or with a library.
[[noreturn]] void serve() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto report = std::make_unique<Report>();
  for (Request request = {}; read_all(kRequests, request);) {
    alarm(kRoundSeconds);
    *report = Report();
    play(request, *report);
    if (!write_all(kRequests, *report)) break;
  }
  _exit(0);
}

class Players {
 public:
  explicit Players(std::vector<std::string> environment);
  ~Players() {
    close(channel_);
    waitpid(pid_, nullptr, 0);
  }
  Players(const Players&) = delete;
  Players& operator=(const Players&) = delete;
  const Report& play(Request request) {
    *report_ = Report();
    if (!write_all(channel_, request) || !read_all(channel_, *report_))
      std::snprintf(report_->fault, sizeof report_->fault, "the round does not end");
    return *report_;
  }

 private:
  int channel_ = -1;
  pid_t pid_ = -1;
  std::unique_ptr<Report> report_ = std::make_unique<Report>();
};

Players::Players(std::vector<std::string> environment) {
  std::array<int, 2> ends = {};
  const int notes = memfd_create("kill-notes", MFD_CLOEXEC);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0 || notes < 0 ||
      ftruncate(notes, kActors * sizeof(Notes)) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair, or memfd_create");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kRequests);
  posix_spawn_file_actions_adddup2(&actions, notes, kNotes);
  std::vector<char*> variables;
  for (std::string& word : environment) variables.push_back(word.data());
  for (char** word = environ; *word != nullptr; ++word) variables.push_back(*word);
  variables.push_back(nullptr);
  std::array<std::string, 2> words = {"sockets-kill", "--rounds"};
  std::array<char*, 3> arguments = {words[0].data(), words[1].data(), nullptr};
  const int error =
      posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), "posix_spawn");
  close(ends[1]);
  close(notes);
  channel_ = ends[0];
}

struct Options {
  std::string library;
  std::string set = "after=1,ring=4k,spin=0";
  std::string only;
  std::uint32_t seed = 1;
  std::uint32_t share = 1;    // one place in so many is tried
  std::uint32_t samples = 0;  // random places for each script and attitude
  std::uint32_t shown = 20;
  std::uint32_t seconds = 0;  // 0: all scripts; else random scripts for this time
  bool verbose = false;
};

class Sweep {
 public:
  explicit Sweep(const Options& options)
      : options_(options),
        random_(options.seed),
        plain_({}),
        layered_({"LD_PRELOAD=" + options.library, "EXS_SOCKETS=" + options.set}) {}

  int run() {
    const std::vector<Script>& all = scripts();
    std::vector<std::uint32_t> chosen;
    for (std::uint32_t i = 0; i < all.size(); ++i)
      if (options_.only.empty() || all[i].name.find(options_.only) != std::string::npos) chosen.push_back(i);
    if (options_.seconds > 0) std::shuffle(chosen.begin(), chosen.end(), random_);
    for (const std::uint32_t script : chosen)
      if (has_time()) sweep(script);
    std::printf("%u rounds of plain TCP, %u with the library, %u differences; --seed %u\n", plain_rounds_,
                layered_rounds_, differences_, options_.seed);
    return differences_ == 0 && layered_rounds_ > 0 ? 0 : 1;
  }

 private:
  // What the survivor sees with TCP, by the phase of the victim.
  using Seen = std::map<std::uint32_t, std::set<std::string>>;

  [[nodiscard]] bool has_time() const {
    return options_.seconds == 0 ||
           std::chrono::steady_clock::now() - begun_ < std::chrono::seconds(options_.seconds);
  }
  void sweep(std::uint32_t script) {
    const Script& about = scripts()[script];
    const std::uint32_t before = differences_;
    std::uint32_t instructions = 0;
    std::vector<Place> places;
    if (!about.has_exec) places = find_changes(script, instructions);
    for (const What what : {What::kKill, What::kStop}) {
      for (const Attitude attitude : kAttitudes) {
        if (attitude == Attitude::kSleeps && (what == What::kStop || !about.may_sleep)) continue;
        if (what == What::kStop && !about.can_go_on) continue;
        const Seen seen = see_plain({what, script, attitude, {}});
        try_calls({what, script, attitude, {}}, seen);
        for (const Place& place : places)
          if (random_() % options_.share == 0 && has_time()) compare({what, script, attitude, place}, seen);
        for (std::uint32_t i = 0; i < options_.samples && instructions > 0; ++i)
          compare({what, script, attitude, some_place(places, instructions)}, seen);
      }
    }
    if (options_.verbose)
      std::printf("%-28s %5u instructions, %3zu changes, %u differences\n", about.name.c_str(), instructions,
                  places.size(), differences_ - before);
  }
  std::vector<Place> find_changes(std::uint32_t script, std::uint32_t& instructions) {
    const Report& report = layered_.play({What::kFindChanges, script, Attitude::kReads, {}});
    ++layered_rounds_;
    if (report.fault[0] != '\0')
      differ({What::kFindChanges, script, Attitude::kReads, {}}, report, report.fault);
    instructions = report.instructions;
    return {report.at, report.at + report.places};
  }
  Place some_place(const std::vector<Place>& places, std::uint32_t instructions) {
    const std::uint32_t calls = places.empty() ? 20 : places.back().calls + 2;
    return {static_cast<std::uint32_t>(random_()) % (calls + 1),
            static_cast<std::uint32_t>(random_()) % (instructions / 4 + 1)};
  }

  Seen see_plain(Request request) {
    Seen seen;
    for (bool goes_on = true; goes_on; ++request.place.calls) {
      const Report& report = plain_.play(request);
      ++plain_rounds_;
      goes_on = report.goes_on;
      if (report.fault[0] != '\0') differ(request, report, std::string("plain TCP: ") + report.fault);
      seen[report.phase].insert(report.seen);
    }
    return seen;
  }
  void try_calls(Request request, const Seen& seen) {
    bool goes_on = true;
    while (goes_on && has_time()) {
      goes_on = compare(request, seen);
      ++request.place.calls;
    }
  }
  // Between two calls of the program, plain TCP has no system call for a kill. It shows what a kill at the
  // beginning of the second call does.
  static Seen::const_iterator find(const Seen& seen, std::uint32_t phase) {
    const auto exact = seen.find(phase);
    return exact == seen.end() && phase % 2 == 0 ? seen.find(phase + 1) : exact;
  }
  // Returns whether the step continues behind the place.
  bool compare(const Request& request, const Seen& seen) {
    const Report& report = layered_.play(request);
    ++layered_rounds_;
    if (report.fault[0] != '\0') {
      differ(request, report, report.fault);
    } else if (const auto allowed = find(seen, report.phase);
               allowed == seen.end() || allowed->second.count(report.seen) == 0) {
      std::string told = std::string("seen:") + report.seen;
      if (allowed != seen.end())
        for (const std::string& each : allowed->second) told += "\n    TCP:" + each;
      differ(request, report, told);
    }
    return report.goes_on;
  }
  void differ(const Request& request, const Report& report, const std::string& what) {
    ++differences_;
    // Neighbouring places show the same difference, which is printed once.
    const std::string key = scripts()[request.script].name + name_of(request.attitude) + what;
    if (!told_.insert(key).second || told_.size() > options_.shown) return;
    std::printf("%s, %s, survivor %s, %u calls and %u instructions into the step, phase %u\n    %s\n",
                scripts()[request.script].name.c_str(), request.what == What::kStop ? "stopped" : "killed",
                name_of(request.attitude), request.place.calls, request.place.instructions, report.phase,
                what.c_str());
    std::fflush(stdout);
  }

  const Options& options_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::mt19937 random_;
  Players plain_;
  Players layered_;
  std::uint32_t plain_rounds_ = 0;
  std::uint32_t layered_rounds_ = 0;
  std::uint32_t differences_ = 0;
  std::set<std::string> told_;
};

bool parse(int count, char** words, Options& options) {
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--verbose") {
      options.verbose = true;
      continue;
    }
    if (i + 1 == count) return false;
    const char* const value = words[++i];
    const auto number = static_cast<std::uint32_t>(std::strtoul(value, nullptr, 10));
    if (word == "--library")
      options.library = value;
    else if (word == "--set")
      options.set = value;
    else if (word == "--only")
      options.only = value;
    else if (word == "--seed")
      options.seed = number;
    else if (word == "--share")
      options.share = number;
    else if (word == "--samples")
      options.samples = number;
    else if (word == "--seconds")
      options.seconds = number;
    else if (word == "--show")
      options.shown = number;
    else
      return false;
  }
  return options.library.find("libexs_sockets.so") != std::string::npos && options.share > 0;
}

}  // namespace
}  // namespace killing

int main(int count, char** words) {
  using namespace killing;
  if (count == 2 && std::strcmp(words[1], "--rounds") == 0) serve();
  if (count == 5 && std::strcmp(words[1], "--successor") == 0) act_on(words + 2);
  Options options;
  if (!parse(count, words, options)) {
    std::fputs(
        "sockets-kill --library PATH/libexs_sockets.so [--set WORDS] [--only NAME] [--seed N] [--share N] "
        "[--samples N] [--seconds N] "
        "[--show N] [--verbose]\n",
        stderr);
    return 2;
  }
  personality(ADDR_NO_RANDOMIZE);  // each round has the same instructions
  return Sweep(options).run();
}
