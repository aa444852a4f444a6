// exs-top shows the connections of the programs of this host that use exs: what carries each, how fast it is, what it waits for, and which
// errors have ended others. It reads what those programs count anyway, and asks nothing of them.
// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "base/socket_address.h"
#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/run_info.h"
#include "tools/common/watch.h"
#include "tools/top/metrics.h"
#include "tools/top/report.h"
#include "tools/top/screen.h"
#include "tools/top/serve.h"

namespace top {
namespace {

// As in their enumerations.
constexpr std::array kOrders{"process", "sent", "received", "messages", "stalled", "peer"};
constexpr std::array kGroupings{"connection", "process", "peer"};

struct TopSettings {
  std::uint32_t process = 0;  // 0: all
  bool once = false;
  bool json = false;
  bool metrics = false;
  std::string serve;
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
  line.add_flag("--metrics", settings.metrics, "Print OpenMetrics text, and end");
#ifdef EXS_TOP_SERVES
  line.add("--serve", settings.serve,
           "Serve this text at http://ADDRESS/metrics until SIGINT; as 127.0.0.1:9847")
      .value_name("ADDRESS");
#endif
  line.add_choice(
      "--sort", {kOrders.begin(), kOrders.end()},
      [&](std::size_t index) { settings.view.order = static_cast<Order>(index); },
      "Order of the lines; default process");
  line.add_choice(
      "--group", {kGroupings.begin(), kGroupings.end()},
      [&](std::size_t index) { settings.view.grouping = static_cast<Grouping>(index); },
      "One line for each connection, process, or host of peers; default connection");
  line.parse(argc, argv);
  if (settings.json + settings.metrics + !settings.serve.empty() > 1)
    throw tools::UsageError("give one of --json, --metrics and --serve");
  return settings;
}

void print(const std::vector<ShownProcess>& processes, const TableView& view) {
  for (const std::string& line : table_of(processes, view)) std::printf("%s\n", line.c_str());
}

int print_once(const TopSettings& settings, Processes& processes) {
  const std::vector<ShownProcess> found = processes.look_again();
  if (settings.process != 0 && found.empty())
    throw tools::Failure("process " + std::to_string(settings.process) +
                         " does not use exs, has EXS_STATS=0, or belongs to another user");
  if (settings.metrics) std::fputs(metrics_of(found).c_str(), stdout);
  if (!settings.metrics && !settings.json) print(found, settings.view);
  if (!settings.json) return 0;
  tools::Json::Object out = tools::begin_results("exs-top");
  out.emplace_back("processes", json_of(found));
  tools::print_json(out);
  return 0;
}

template <typename Choice, std::size_t size>
void choose_next(Choice& choice, const std::array<const char*, size>&) {
  choice = static_cast<Choice>((static_cast<std::size_t>(choice) + 1) % size);
}

// Returns false for the key that ends the program.
bool press(char key, TableView& view) {
  if (key == 's') choose_next(view.order, kOrders);
  if (key == 'g') choose_next(view.grouping, kGroupings);
  return key != 'q';
}

std::string keys_of(const TableView& view) {
  return std::string("s sort: ") + kOrders[static_cast<std::size_t>(view.order)] +
         "   g one line each: " + kGroupings[static_cast<std::size_t>(view.grouping)] + "   q end";
}

int show_on(Screen& screen, Processes& processes, TableView view) {
  std::vector<ShownProcess> found;
  const auto show = [&](ScreenSize size) {
    view.columns = size.columns;
    view.lines = size.lines > 1 ? size.lines - 1 : 0;
    std::vector<std::string> lines = table_of(found, view);
    lines.insert(lines.begin(), keys_of(view));
    return lines;
  };
  screen.run([&] { found = processes.look_again(); }, show, [&](char key) { return press(key, view); });
  return 0;
}

#ifdef EXS_TOP_SERVES
int serve(const TopSettings& settings, Processes& processes) {
  const auto address = exs::parse_address(settings.serve);
  if (!address) throw tools::UsageError("--serve " + settings.serve + ": give an address as 127.0.0.1:9847");
  serve_metrics(*address, [&] { return metrics_of(processes.look_again()); });
  return 0;
}
#endif

int run(const TopSettings& settings) {
  constexpr std::timespec kFirst{0, 250'000'000};
  Processes processes(static_cast<int>(settings.process));
  if (settings.once || settings.json || settings.metrics) return print_once(settings, processes);
#ifdef EXS_TOP_SERVES
  if (!settings.serve.empty()) return serve(settings, processes);
#endif
  TableView view = settings.view;
  view.shows_rates = true;
  processes.look_again();
  ::nanosleep(&kFirst, nullptr);  // rates are of a time
  if (!Screen::is_there()) return tools::watch([&] { print(processes.look_again(), view); });
  Screen screen;
  return show_on(screen, processes, view);
}

}  // namespace
}  // namespace top

int main(int argc, char** argv) {
  return tools::run_main("exs-top", [&] { return top::run(top::parse(argc, argv)); });
}
