// exs-run runs a program with libexs_sockets.so preloaded. If that would be useless, it reports why and runs the program without. With -n
// it starts a job of several processes instead (job.h).
// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>

#include "base/setting_names.h"
#include "sockets/settings/program.h"
#include "sockets/settings/settings.h"
#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/json.h"
#include "tools/common/run_info.h"
#include "tools/common/svg.h"
#include "tools/run/agent.h"
#include "tools/run/exit_status.h"
#include "tools/run/find_program.h"
#include "tools/run/host_list.h"
#include "tools/run/job.h"
#include "tools/run/missing_file.h"
#include "tools/run/timeline.h"

namespace run {
namespace {

using exs::sockets::Unserved;

constexpr int kNotServed = 3;
constexpr std::uint32_t kProcessesMax = 65536;

struct Settings {
  std::string words;
  std::string library;
  bool explain = false;
  bool check = false;
  bool json = false;
  std::uint32_t processes = 0;  // 0: no job
  bool tag = false;
  bool keep_going = false;
  std::string hosts;
  std::string hostfile;
  std::string timeline;  // the file for a drawing; empty: none
  bool agent = false;

  [[nodiscard]] bool has_hosts() const { return !hosts.empty() || !hostfile.empty(); }
  [[nodiscard]] bool is_job() const { return processes > 0 || has_hosts(); }
};

struct Reason {
  const char* name;
  std::string text;
  std::string cure;
};
Reason reason_of(Unserved unserved, const std::string& path) {
  switch (unserved) {
    case Unserved::kNot: return {"served", "", ""};
    case Unserved::kMissing: {
      const MissingFile missing = find_missing_file(path);
      return {"missing", missing.text, missing.cure};
    }
    case Unserved::kNotReadable: return {"not-readable", "its file cannot be read", "chmod +r"};
    case Unserved::kNotAProgram:
      return {"not-a-program", "it is neither a program nor a script", "look at it with file(1)"};
    case Unserved::kStatic:
      return {"static", "it is linked statically, and loads no library", "link it dynamically"};
    case Unserved::kOtherMachine:
      return {"other-machine", "it is of another machine, or of 32 bits", "take one of this machine"};
    case Unserved::kOtherLibc:
      return {"other-libc", "its C library is not glibc", "take one that is built with glibc"};
    case Unserved::kGo: return {"go", "Go programs call the kernel past the C library", "none"};
    case Unserved::kGivesRights:
      return {"gives-rights", "it has other rights than its caller, so nothing may be preloaded",
              "run it as the user that it becomes"};
    case Unserved::kSanitized:
      return {"sanitized", "its address sanitizer must be the first library of all",
              "build it without -fsanitize=address"};
    case Unserved::kIoUring:
      return {"io-uring", "its connections go by TCP from when it sets up io_uring",
              "make it use epoll, where it has an option for that"};
  }
  return {"unknown", "", ""};
}
bool is_served(Unserved unserved) {
  return unserved == Unserved::kNot || unserved == Unserved::kIoUring;
}

// The arguments before the program's name are ours.
int own_arguments(int argc, char** argv) {
  int at = 1;
  while (at < argc && argv[at][0] == '-') {
    const std::string word = argv[at++];
    if (word == "--") break;
    for (const std::string_view with_value :
         {"--set", "--library", "-n", "--processes", "--hosts", "--hostfile", "--timeline"})
      at += word == with_value;
  }
  return std::min(at, argc);
}

void refuse_what_makes_no_sense(const Settings& settings) {
  std::string_view complaint;
  static_cast<void>(exs::sockets::parse_settings(settings.words, "", complaint));
  if (!complaint.empty())
    throw tools::UsageError("\"" + std::string(complaint) + "\" means nothing to --set");
  if (settings.json && !settings.check) throw tools::UsageError("--json belongs to --check");
  const bool is_alone =
      !settings.words.empty() || !settings.library.empty() || settings.explain || settings.check;
  if (settings.is_job() && is_alone)
    throw tools::UsageError("-n does without --set, --library, --explain and --check");
  if (!settings.is_job() && (settings.tag || settings.keep_going || !settings.timeline.empty()))
    throw tools::UsageError("--tag, --keep-going and --timeline belong to -n and to --hosts");
  if (!settings.hosts.empty() && !settings.hostfile.empty())
    throw tools::UsageError("give --hosts or --hostfile");
  if (settings.agent && (settings.is_job() || is_alone)) throw tools::UsageError("--agent stands alone");
}

Settings parse(int count, const char* const* argv) {
  Settings settings;
  tools::CommandLine line(
      "exs-run",
      "run a program with its TCP connections inside this host by shared memory\n"
      "exs-run [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
      "or start a job of N processes, in whose arguments {rank} and {size} are replaced\n"
      "exs-run -n N [--hosts A:8,B:8] [--tag] [--keep-going] [--timeline FILE] [--] PROGRAM [ARGUMENTS]");
  line.group("Jobs");
  line.add("-n,--processes", settings.processes,
           "Start a job of so many processes, without the layer for sockets")
      .value_name("N")
      .between(std::uint64_t{1}, std::uint64_t{kProcessesMax});
  line.add("--hosts", settings.hosts, "Start the processes on these hosts, so many on each, else 1")
      .value_name("A:8,B:8");
  line.add("--hostfile", settings.hostfile, "The same, from a file of lines A:8 or A slots=8")
      .value_name("PATH");
  line.add_flag("--agent", settings.agent,
                "Serve an exs-run on another host, which starts this one for --hosts");
  line.add_flag("--tag", settings.tag, "With -n: each line of output begins with [RANK]");
  line.add_flag("--keep-going", settings.keep_going,
                "With -n: when a process has died, notify the others and do not end them");
  line.add("--timeline", settings.timeline,
           "With -n: at the end, draw when each process started, joined and ended")
      .value_name("FILE");
  line.group("Sockets of one program");
  line.add("--set", settings.words, "Words of EXS_SOCKETS, such as ring=1M,spin=20us").value_name("WORDS");
  line.add("--library", settings.library, "The library, in place of that of this installation")
      .value_name("PATH");
  line.add_flag("--explain", settings.explain,
                "At the end of each connection, print the bytes of each way and the reason");
  line.add_flag("--check", settings.check,
                "Run nothing; print whether the program can be served, and end with 0 or 3");
  line.add_flag("--json", settings.json, "With --check: print one JSON object");
  line.parse(count, argv);
  refuse_what_makes_no_sense(settings);
  return settings;
}

std::string folder_of_this() {
  char path[PATH_MAX] = {};
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
  if (length < 0) tools::fail("cannot find this program", errno);
  const std::string all(path, static_cast<std::size_t>(length));
  return all.substr(0, all.rfind('/'));
}

std::string find_library(const std::string& given) {
  std::string path = given;
  if (path.empty()) {
    const std::string folder = folder_of_this();
    for (const char* place : {"/../lib/", "/../" EXS_LIBDIR "/"}) {
      path = folder + place + "libexs_sockets.so";
      if (::access(path.c_str(), R_OK) == 0) break;
    }
  }
  char real[PATH_MAX];
  if (::realpath(path.c_str(), real) == nullptr) tools::fail("cannot read " + path, errno);
  return real;
}

void put_first(const char* variable, const std::string& value, char separator) {
  const char* const before = std::getenv(variable);
  const bool has_more = before != nullptr && before[0] != '\0';
  ::setenv(variable, (has_more ? value + separator + before : value).c_str(), 1);
}

int say(const std::string& path, Unserved unserved, bool json) {
  const Reason reason = reason_of(unserved, path);
  if (json) {
    tools::Json::Object out = tools::begin_results("exs-run");
    out.emplace_back("program", path);
    out.emplace_back("served", is_served(unserved));
    out.emplace_back("reason", reason.name);
    out.emplace_back("text", reason.text);
    out.emplace_back("cure", reason.cure);
    tools::print_json(out);
  } else {
    std::cout << path << ": " << (is_served(unserved) ? "served" : "not served");
    if (unserved != Unserved::kNot) std::cout << ": " << reason.text << " (cure: " << reason.cure << ")";
    std::cout << "\n";
  }
  return is_served(unserved) ? 0 : kNotServed;
}

int execute(const Settings& settings, const std::string& path, char** arguments, Unserved unserved) {
  if (unserved != Unserved::kNot) {
    const Reason reason = reason_of(unserved, path);
    std::cerr << "exs-run: " << path << (is_served(unserved) ? " may run in part" : " runs")
              << " without exs: " << reason.text << " (cure: " << reason.cure << ")\n";
  }
  if (is_served(unserved)) {
    put_first("LD_PRELOAD", find_library(settings.library), ':');
    if (!settings.words.empty()) put_first("EXS_SOCKETS", settings.words, ',');
    if (settings.explain) ::setenv("EXS_EXPLAIN", "yes", 1);
  }
  ::execv(path.c_str(), arguments);
  const int error = errno;
  std::cerr << "exs-run: " << words_of_failed_execution(path, error) << "\n";
  return error == ENOENT ? kNotFound : kCannotExecute;
}

std::vector<HostName> hosts_of(const Settings& settings) {
  if (!settings.has_hosts()) return {};
  return filled(settings.hosts.empty() ? read_hosts(settings.hostfile) : parse_hosts(settings.hosts),
                settings.processes);
}

// The path on the other hosts is our own, unless exs-run was found by its name.
std::string agent_of(const char* called) {
  if (std::strchr(called, '/') == nullptr) return called;
  return folder_of_this() + "/exs-run";
}

int run_job(const Settings& settings, const std::string& path, char** arguments, char** arguments_end,
            const char* called) {
  JobSettings job;
  job.path = path;
  job.arguments.assign(arguments, arguments_end);
  job.hosts = hosts_of(settings);
  job.agent = agent_of(called);
  job.size = settings.processes;
  if (!job.hosts.empty()) {
    job.size = 0;
    for (const HostName& host : job.hosts) job.size += host.slots;
  }
  job.is_tagged = settings.tag;
  job.keeps_going = settings.keep_going;
  Timeline timeline;
  if (!settings.timeline.empty()) job.timeline = &timeline;
  const std::string title = "exs-run -n " + std::to_string(job.size) + " " + job.path;
  const int status = Job(std::move(job)).run();
  if (settings.timeline.empty()) return status;
  try {
    tools::write_file(settings.timeline, timeline.drawing(title));
  } catch (const tools::Failure& failure) {
    std::cerr << "exs-run: " << failure.what() << "\n";
    return status != 0 ? status : kFailed;
  }
  return status;
}

int run(int argc, char** argv) {
  const int own = own_arguments(argc, argv);
  const bool has_end = own > 1 && std::string(argv[own - 1]) == "--";
  const Settings settings = parse(has_end ? own - 1 : own, argv);
  if (const std::string words = exs::words_about_unknown_settings(environ); !words.empty() && !settings.agent)
    std::cerr << "exs-run: " << words << "\n";
  if (settings.agent && own == argc) return Agent().run();
  if (settings.agent) throw tools::UsageError("--agent stands alone");
  if (own == argc) throw tools::UsageError("name a PROGRAM");
  // Each host looks for the program itself.
  if (settings.has_hosts()) return run_job(settings, argv[own], argv + own, argv + argc, argv[0]);
  const std::string path = find_program(argv[own]);
  if (path.empty()) {
    std::cerr << "exs-run: " << argv[own] << ": not found in PATH\n";
    return kNotFound;
  }
  if (settings.processes > 0) return run_job(settings, path, argv + own, argv + argc, argv[0]);
  const Unserved unserved = exs::sockets::examine_program(path.c_str());
  if (settings.check) return say(path, unserved, settings.json);
  if (unserved == Unserved::kMissing) {
    const MissingFile missing = find_missing_file(path);
    std::cerr << "exs-run: " << path << ": " << missing.text << " (cure: " << missing.cure << ")\n";
    return kNotFound;
  }
  return execute(settings, path, argv + own, unserved);
}

}  // namespace
}  // namespace run

int main(int argc, char** argv) {
  return tools::run_main("exs-run", [&] { return run::run(argc, argv); });
}
