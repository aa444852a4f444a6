// SPDX-License-Identifier: BSD-2-Clause
#include "tools/top/metrics.h"

#include <array>
#include <map>
#include <utility>

#include "tools/common/units.h"
#include "tools/top/names.h"

namespace top {
namespace {

// The samples of a family by their labels, in the order in which they are printed.
using Samples = std::map<std::string, double>;

std::string label(const char* name, const std::string& value) {
  std::string text = std::string(name) + "=\"";
  for (const char letter : value) {
    if (letter == '\\' || letter == '"') text += '\\';
    text += letter;
  }
  return text + '"';
}

void append_family(std::string& out, const std::string& name, const char* type, const char* unit,
                   const char* help, const Samples& samples) {
  out += "# TYPE " + name + ' ' + type + '\n';
  if (*unit != '\0') out += "# UNIT " + name + ' ' + unit + '\n';
  out += "# HELP " + name + ' ' + help + '\n';
  const char* const suffix = std::string(type) == "counter" ? "_total" : "";
  for (const auto& [labels, value] : samples)
    out += name + suffix + '{' + labels + "} " + tools::format("%.17g", value) + '\n';
}

struct MetricFamily {
  const char* name;
  const char* unit;
  const char* help;
  double (*value)(const exs::stats::Counters& counters);
};

constexpr std::array kFamilies{
    MetricFamily{
        "exs_sent_bytes", "bytes", "Data that connections have sent.",
        [](const exs::stats::Counters& counters) { return static_cast<double>(counters.bytes_sent); }},
    MetricFamily{
        "exs_received_bytes", "bytes", "Data that connections have received.",
        [](const exs::stats::Counters& counters) { return static_cast<double>(counters.bytes_received); }},
    MetricFamily{
        "exs_sends", "", "Sends that have ended.",
        [](const exs::stats::Counters& counters) { return static_cast<double>(counters.sends_done); }},
    MetricFamily{
        "exs_receives", "", "Receives that have ended.",
        [](const exs::stats::Counters& counters) { return static_cast<double>(counters.receives_done); }},
    MetricFamily{"exs_operation_errors", "", "Sends and receives that have ended with an error.",
                 [](const exs::stats::Counters& counters) { return static_cast<double>(counters.errors); }},
    MetricFamily{"exs_credit_stall_seconds", "seconds",
                 "Time in which sends of connections waited for credits.",
                 [](const exs::stats::Counters& counters) {
                   return static_cast<double>(counters.stalled_ns) / kNsPerSecond;
                 }},
};

}  // namespace

std::string metrics_of(const std::vector<ShownProcess>& processes) {
  Samples running, opened, connections, slower;
  std::array<Samples, kFamilies.size()> sums;
  for (const ShownProcess& process : processes) {
    const std::string program = label("program", process.program);
    ++running[program];
    opened[program] += static_cast<double>(process.snapshot.opened);
    for (std::size_t i = 0; i < kFamilies.size(); ++i)
      sums[i][program] += kFamilies[i].value(process.snapshot.closed);
    for (const ConnectionRow& row : process.rows) {
      const ShownConnection& connection = row.connection;
      // A sum of lanes would go back when one is closed.
      for (std::size_t i = 0; i < kFamilies.size() && !connection.lane; ++i)
        sums[i][program] += kFamilies[i].value(connection.record.counters);
      if (connection.carrier().empty()) continue;
      ++connections[program + ',' + label("provider", connection.carrier()) + ',' +
                    label("kind", connection.kind())];
      if (const std::string refused = connection.refused(); !refused.empty())
        ++slower[program + ',' + label("faster", refused) + ',' + label("reason", connection.reason())];
    }
  }
  std::string out;
  append_family(out, "exs_processes", "gauge", "", "Processes that use exs.", running);
  append_family(out, "exs_connections", "gauge", "", "Connections that are up.", connections);
  append_family(out, "exs_slower_connections", "gauge", "",
                "Connections that a faster way does not carry, by the reason.", slower);
  append_family(out, "exs_connections_opened", "counter", "", "Connections, closed ones among them.", opened);
  for (std::size_t i = 0; i < kFamilies.size(); ++i)
    append_family(out, kFamilies[i].name, "counter", kFamilies[i].unit, kFamilies[i].help, sums[i]);
  return out + "# EOF\n";
}

}  // namespace top
