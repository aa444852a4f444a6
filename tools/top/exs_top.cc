// exs-top shows the connections of the programs of this host that use exs: what carries each, how fast it is, what it waits for, and which
// errors have ended others. It reads what those programs count anyway, and asks nothing of them.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/run_info.h"
#include "tools/common/watch.h"
#include "tools/top/report.h"

namespace top {
namespace {

struct TopSettings {
  std::uint32_t process = 0;  // 0: all
  bool once = false;
  bool json = false;
  TableView view;
};

TopSettings parse(int argc, const char* const* argv) {
  constexpr std::uint64_t kProcessMax = 4'194'304;
  TopSettings settings;
  tools::CommandLine line("exs-top", "the connections of programs that use exs, as they move");
  line.add("-p,--pid", settings.process, "Show this process alone").between(std::uint64_t{1}, kProcessMax);
  line.add_flag("--once", settings.once,
                "Print once, with all that was moved since each connection was opened");
  line.add_json_flag(settings.json);
  line.add_choice(
      "--sort", {"process", "sent", "received", "messages", "stalled", "peer"},
      [&](std::size_t index) { settings.view.order = static_cast<Order>(index); },
      "Order of the lines; default process");
  line.add_choice(
      "--group", {"connection", "process", "peer"},
      [&](std::size_t index) { settings.view.grouping = static_cast<Grouping>(index); },
      "One line for each connection, process, or host of peers; default connection");
  line.parse(argc, argv);
  return settings;
}

void fit_to_terminal(TableView& view) {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return;
  view.columns = size.ws_col;
  view.lines = size.ws_row > 0 ? size.ws_row - 1 : 0;
}

void print(const std::vector<ShownProcess>& processes, const TableView& view) {
  for (const std::string& line : table_of(processes, view)) std::printf("%s\n", line.c_str());
}

int print_once(const TopSettings& settings, Processes& processes) {
  const std::vector<ShownProcess> found = processes.look_again();
  if (settings.process != 0 && found.empty())
    throw tools::Failure("process " + std::to_string(settings.process) +
                         " does not use exs, has EXS_STATS=0, or belongs to another user");
  if (!settings.json) {
    print(found, settings.view);
    return 0;
  }
  tools::Json::Object out = tools::begin_results("exs-top");
  out.emplace_back("processes", json_of(found));
  tools::print_json(out);
  return 0;
}

int run(const TopSettings& settings) {
  Processes processes(static_cast<int>(settings.process));
  if (settings.once || settings.json) return print_once(settings, processes);
  constexpr std::timespec kFirst{0, 250'000'000};
  TableView view = settings.view;
  view.shows_rates = true;
  processes.look_again();
  ::nanosleep(&kFirst, nullptr);  // rates are of a time
  return tools::watch([&] {
    fit_to_terminal(view);
    print(processes.look_again(), view);
  });
}

}  // namespace
}  // namespace top

int main(int argc, char** argv) {
  return tools::run_main("exs-top", [&] { return top::run(top::parse(argc, argv)); });
}
