// What exs-top prints: a table, or a JSON object.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/common/json.h"
#include "tools/top/processes.h"

namespace top {

enum class Order { kProcess, kSent, kReceived, kMessages, kStalled, kPeer };
enum class Grouping { kConnection, kProcess, kPeer };

struct TableView {
  bool shows_rates = false;  // else what was moved since the connections were opened
  Order order = Order::kProcess;
  Grouping grouping = Grouping::kConnection;
  std::size_t columns = 0;  // of the terminal; 0: lines may be as long as they are
  std::size_t lines = 0;    // likewise
};

// The lines of a screen.
std::vector<std::string> table_of(const std::vector<ShownProcess>& processes, const TableView& view);
tools::Json::Array json_of(const std::vector<ShownProcess>& processes);

}  // namespace top
