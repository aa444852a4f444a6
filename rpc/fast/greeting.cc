// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/greeting.h"

#include <cstring>
#include <unordered_map>

namespace exs::rpc {

bool is_hello(std::span<const std::byte> bytes, ProgramHello& hello) {
  return read_words(bytes, hello) && hello.magic == ProgramHello().magic;
}

bool is_window_hello(std::span<const std::byte> bytes, WindowHello& hello) {
  return read_words(bytes, hello) && hello.magic == WindowHello().magic;
}

std::vector<TableEntry> table_of(const exs_rpc_interface_t& interface) {
  std::vector<TableEntry> table;
  table.reserve(interface.procedures_count);
  for (const exs_rpc_procedure_t& one : std::span(interface.procedures, interface.procedures_count))
    table.push_back({one.number, 0, one.hash});
  return table;
}

bool match(std::span<const std::byte> table, const exs_rpc_interface_t& interface, TableMatch& matched) {
  const std::size_t count = table.size() / sizeof(TableEntry);
  if (table.size() % sizeof(TableEntry) != 0 || count > kProceduresMax) return false;
  std::unordered_map<std::uint32_t, std::uint16_t> places;
  for (std::uint32_t i = 0; i < interface.procedures_count; ++i)
    places.emplace(interface.procedures[i].number, static_cast<std::uint16_t>(i));
  matched.verdicts.assign(count, ProcedureVerdict::kAbsent);
  matched.places.assign(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    TableEntry entry{};
    std::memcpy(&entry, table.data() + i * sizeof entry, sizeof entry);
    const auto found = places.find(entry.number);
    if (found == places.end()) continue;
    const bool is_same = interface.procedures[found->second].hash == entry.hash;
    matched.verdicts[i] = is_same ? ProcedureVerdict::kCallable : ProcedureVerdict::kOtherTypes;
    matched.places[i] = found->second;
  }
  return true;
}

}  // namespace exs::rpc
