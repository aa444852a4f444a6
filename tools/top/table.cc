// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <utility>

#include "tools/common/units.h"
#include "tools/top/names.h"
#include "tools/top/report.h"

namespace top {
namespace {

// A line of the table: a connection, or several.
struct TableLine {
  const ShownProcess* process;
  const ShownConnection* connection;  // the first
  std::size_t connections = 1;
  Rates moved;
  // What several have in common; each word that differs is "*".
  struct CommonWords {
    std::string pid, program, state, kind, provider, peer, why;
  };
  CommonWords words;
};

std::string why_of(const ShownConnection& connection) {
  const std::string refused = connection.refused();
  return refused.empty() ? refused : refused + ": " + connection.reason();
}

// Without the port.
std::string host_of(const std::string& address) {
  return address.substr(0, address.rfind(':'));
}

std::string or_dash(const std::string& word) {
  return word.empty() ? "-" : word;
}

TableLine::CommonWords words_of(const ShownProcess& process, const ShownConnection& connection,
                                Grouping grouping) {
  const std::string peer = connection.peer();
  return {std::to_string(process.pid),
          process.program,
          name_of(connection.record.state),
          connection.kind(),
          or_dash(connection.carrier()),
          or_dash(grouping == Grouping::kPeer ? host_of(peer) : peer),
          why_of(connection)};
}

Rates totals_of(const exs::stats::Counters& counters) {
  return {static_cast<double>(counters.bytes_sent), static_cast<double>(counters.bytes_received),
          static_cast<double>(counters.sends_done), static_cast<double>(counters.receives_done),
          static_cast<double>(counters.stalled_ns) / kNsPerSecond};
}

void add(TableLine& all, const TableLine& one) {
  const auto keep_common = [&](std::string TableLine::CommonWords::*word) {
    if (all.words.*word != one.words.*word) all.words.*word = "*";
  };
  for (const auto word :
       {&TableLine::CommonWords::pid, &TableLine::CommonWords::program, &TableLine::CommonWords::kind,
        &TableLine::CommonWords::state, &TableLine::CommonWords::provider, &TableLine::CommonWords::peer,
        &TableLine::CommonWords::why})
    keep_common(word);
  ++all.connections;
  all.moved.sent_bytes += one.moved.sent_bytes;
  all.moved.received_bytes += one.moved.received_bytes;
  all.moved.sends += one.moved.sends;
  all.moved.receives += one.moved.receives;
  all.moved.stalled = std::max(all.moved.stalled, one.moved.stalled);
}

std::vector<TableLine> lines_of(const std::vector<ShownProcess>& processes, const TableView& view) {
  std::vector<TableLine> lines;
  std::map<std::string, std::size_t> places;
  for (const ShownProcess& process : processes) {
    for (const ConnectionRow& row : process.rows) {
      const Rates moved = view.shows_rates ? row.rates : totals_of(row.connection.record.counters);
      TableLine line{&process, &row.connection, 1, moved, {}};
      if (view.grouping == Grouping::kConnection) {
        lines.push_back(std::move(line));
        continue;
      }
      line.words = words_of(process, row.connection, view.grouping);
      const std::string& key = view.grouping == Grouping::kPeer ? line.words.peer : line.words.pid;
      const auto [place, is_new] = places.try_emplace(key, lines.size());
      if (is_new) {
        lines.push_back(std::move(line));
      } else {
        add(lines[place->second], line);
      }
    }
  }
  return lines;
}

bool is_before(const exs::InternetAddress& one, const exs::InternetAddress& other) {
  return std::memcmp(&one, &other, sizeof one) < 0;
}

void sort(std::vector<TableLine>& lines, Order order) {
  const auto weight = [order](const TableLine& line) {
    switch (order) {
      case Order::kSent: return line.moved.sent_bytes;
      case Order::kReceived: return line.moved.received_bytes;
      case Order::kMessages: return line.moved.sends + line.moved.receives;
      case Order::kStalled: return line.moved.stalled;
      default: return 0.0;
    }
  };
  std::stable_sort(lines.begin(), lines.end(), [&](const TableLine& one, const TableLine& other) {
    if (order == Order::kPeer) return is_before(one.connection->record.peers, other.connection->record.peers);
    return weight(one) > weight(other);
  });
}

using Cells = std::vector<std::string>;

Cells titles(const TableView& view) {
  const bool shows_rates = view.shows_rates;
  return {"PID",
          "PROGRAM",
          view.grouping == Grouping::kConnection ? "STATE" : "CONNECTIONS",
          "KIND",
          "PROVIDER",
          "PEER",
          shows_rates ? "OUT B/s" : "OUT B",
          shows_rates ? "IN B/s" : "IN B",
          shows_rates ? "SENDS/s" : "SENDS",
          shows_rates ? "RECEIVES/s" : "RECEIVES",
          shows_rates ? "STALLED %" : "STALLED s",
          "NOT BY"};
}

Cells cells_of(const TableLine& line, const TableView& view) {
  constexpr double kPercent = 100;
  const bool is_one = view.grouping == Grouping::kConnection;
  const TableLine::CommonWords words =
      is_one ? words_of(*line.process, *line.connection, view.grouping) : line.words;
  const bool counts_calls = !(is_one && line.connection->lane);
  return {words.pid,
          words.program,
          is_one ? words.state : std::to_string(line.connections),
          words.kind,
          words.provider,
          words.peer,
          tools::format_count(line.moved.sent_bytes),
          tools::format_count(line.moved.received_bytes),
          counts_calls ? tools::format_count(line.moved.sends) : "-",
          counts_calls ? tools::format_count(line.moved.receives) : "-",
          tools::format("%.1f", view.shows_rates ? kPercent * line.moved.stalled : line.moved.stalled),
          words.why};
}

bool is_number(std::size_t column) {
  constexpr std::size_t kFirst = 6;
  constexpr std::size_t kLast = 10;
  return column == 0 || (column >= kFirst && column <= kLast);
}

// Numbers end at the same column, words begin there.
std::vector<std::string> aligned(const std::vector<Cells>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<std::string> lines;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string room(widths[i] - row[i].size(), ' ');
      line += is_number(i) ? room + row[i] : row[i] + room;
      if (i + 1 < row.size()) line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string summary_of(const std::vector<ShownProcess>& processes, const std::vector<TableLine>& lines,
                       bool shows_rates) {
  std::size_t connections = 0;
  Rates all;
  for (const TableLine& line : lines) {
    connections += line.connections;
    all.sent_bytes += line.moved.sent_bytes;
    all.received_bytes += line.moved.received_bytes;
  }
  const char* const each = shows_rates ? "/s" : "";
  return tools::format("%zu processes, %zu connections: %sB%s out, %sB%s in", processes.size(), connections,
                       tools::format_count(all.sent_bytes).c_str(), each,
                       tools::format_count(all.received_bytes).c_str(), each);
}

void append_errors(std::vector<std::string>& out, const std::vector<ShownProcess>& processes) {
  for (const ShownProcess& process : processes) {
    for (const ShownError& error : process.snapshot.errors) {
      out.push_back(tools::format("%d %s: %llu times, last at %s: %s", process.pid, process.program.c_str(),
                                  static_cast<unsigned long long>(error.count),
                                  date_of_ns(error.last_ns).c_str(), error.text.c_str()));
    }
  }
}

}  // namespace

std::vector<std::string> table_of(const std::vector<ShownProcess>& processes, const TableView& view) {
  std::vector<TableLine> lines = lines_of(processes, view);
  sort(lines, view.order);
  std::vector<std::string> out{summary_of(processes, lines, view.shows_rates)};
  if (view.lines != 0 && lines.size() > view.lines)
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(view.lines), lines.end());
  if (!lines.empty()) {
    std::vector<Cells> rows{titles(view)};
    for (const TableLine& line : lines) rows.push_back(cells_of(line, view));
    for (std::string& line : aligned(rows)) out.push_back(std::move(line));
  }
  append_errors(out, processes);
  if (view.lines != 0 && out.size() > view.lines) out.resize(view.lines);
  if (view.columns != 0) {
    for (std::string& line : out) line.resize(std::min(line.size(), view.columns));
  }
  return out;
}

}  // namespace top
