// SPDX-License-Identifier: BSD-2-Clause
#include "tools/explain/sockets_report.h"

#include <exs/exs.h>

#include <cinttypes>
#include <cstdio>

#include "tools/common/json.h"
#include "tools/common/units.h"

namespace explain {
namespace {

using exs::sockets::Stage;
using tools::Json;

const char* name_of(Stage stage) {
  switch (stage) {
    case Stage::kNoted: return "noted";
    case Stage::kCalling: return "calling";
    case Stage::kOffered: return "offered";
    case Stage::kLane: return "lane";
    default: return "plain";
  }
}

template <typename Value>
std::optional<Value> if_known(const std::optional<SlotFacts>& slot, Value SlotFacts::*value) {
  return slot ? std::optional((*slot).*value) : std::nullopt;
}

void add(Json::Object& object, const Explanation& why) {
  object.emplace_back("reason", why.code);
  object.emplace_back("fact", why.fact);
  object.emplace_back("cure", why.cure);
}

Json::Object json_of(const SocketsConnection& connection) {
  const auto& slot = connection.slot;
  const auto& tcp = connection.tcp;
  using Text = std::optional<std::string>;
  Json::Object object{
      {"descriptors", tools::array_of(connection.descriptors)},
      {"local", tcp ? Text(tcp->local.text()) : Text()},
      {"remote", tcp ? Text(tcp->remote.text()) : Text()},
      {"tcp_state", lanes::name_of_tcp_state(tcp ? tcp->state : 0)},
      {"peer_pid", connection.peer != 0 ? std::optional(connection.peer) : std::nullopt},
      {"peer_program", connection.peer != 0 ? Text(connection.peer_program) : Text()},
      {"side", slot ? Text(slot->is_caller ? "connect" : "listen") : Text()},
      {"stage", slot ? Text(name_of(slot->stage)) : Text()},
      {"sends_by", connection.sends_by},
      {"receives_by", connection.receives_by},
      {"ring_bytes", if_known(slot, &SlotFacts::capacity)},
      {"ring_sent_bytes", if_known(slot, &SlotFacts::ring_sent)},
      {"tcp_sent_bytes", if_known(slot, &SlotFacts::tcp_sent)},
      {"ring_received_bytes", if_known(slot, &SlotFacts::ring_received)},
      {"tcp_received_bytes", if_known(slot, &SlotFacts::tcp_received)},
      {"unread_bytes", connection.unread},
      {"peer_unread_bytes", connection.unread_by_peer},
      {"turns", if_known(slot, &SlotFacts::turns)},
      {"bells", if_known(slot, &SlotFacts::bells)},
      {"sleeps", if_known(slot, &SlotFacts::sleeps)},
      {"looks_found", if_known(slot, &SlotFacts::looks_found)},
      {"looks_missed", if_known(slot, &SlotFacts::looks_missed)},
      {"processes", if_known(slot, &SlotFacts::processes)},
  };
  add(object, connection.why);
  return object;
}

Json::Object json_of(const SocketsProcess& process) {
  Json::Object object{{"pid", process.pid}, {"program", process.program}, {"served", process.is_served}};
  add(object, process.why);
  Json::Array connections;
  for (const SocketsConnection& connection : process.connections)
    connections.emplace_back(json_of(connection));
  object.emplace_back("connections", connections);
  return object;
}

void print_json(const SocketsSurvey& survey) {
  Json::Array processes;
  for (const SocketsProcess& process : survey.processes) processes.emplace_back(json_of(process));
  tools::print_json(Json::Object{{"tool", "exs-explain"},
                                 {"version", exs_version_string()},
                                 {"schema", 1},
                                 {"processes", processes},
                                 {"processes_out_of_reach", survey.out_of_reach}});
}

// "4,5 127.0.0.1:40000 > 127.0.0.1:80 of 77 (nginx)": the connecting end is on the left of the arrow.
std::string heading_of(const SocketsConnection& connection) {
  std::string text;
  for (const int number : connection.descriptors) text += (text.empty() ? "" : ",") + std::to_string(number);
  const auto& tcp = connection.tcp;
  const char* const arrow = !connection.slot ? "-" : connection.slot->is_caller ? ">" : "<";
  text += tcp ? " " + tcp->local.text() + " " + arrow + " " + tcp->remote.text() : " closed";
  if (connection.peer != 0)
    text += tools::format(" of %d (%s)", connection.peer, connection.peer_program.c_str());
  return text;
}

void print(const SlotFacts& slot, const SocketsConnection& connection) {
  std::printf("    sent %" PRIu64 " bytes by ring and %" PRIu64 " by TCP, received %" PRIu64 " and %" PRIu64
              "\n",
              slot.ring_sent, slot.tcp_sent, slot.ring_received, slot.tcp_received);
  std::printf("    %" PRIu64 " turns, %" PRIu64 " bells, %" PRIu64 " sleeps, looks: %" PRIu64
              " found, %" PRIu64 " missed\n",
              slot.turns, slot.bells, slot.sleeps, slot.looks_found, slot.looks_missed);
  const auto told = [](const std::optional<std::uint64_t>& bytes) {
    return bytes ? std::to_string(*bytes) : std::string("unknown");
  };
  if (slot.capacity != 0)
    std::printf("    unread in rings of %s: %s here, %s at the peer\n",
                tools::format_size(slot.capacity).c_str(), told(connection.unread).c_str(),
                told(connection.unread_by_peer).c_str());
}

void print(const char* indent, const Explanation& why) {
  if (why.code.empty()) return;
  std::printf("%s%s: %s\n", indent, why.code.c_str(), why.fact.c_str());
  if (!why.cure.empty()) std::printf("%scure: %s\n", indent, why.cure.c_str());
}

void print(const SocketsProcess& process) {
  std::printf("%d %s: ", process.pid, process.program.c_str());
  if (!process.is_served) return print("", process.why);
  std::printf("%zu TCP connection%s\n", process.connections.size(),
              process.connections.size() == 1 ? "" : "s");
  for (const SocketsConnection& connection : process.connections) {
    std::printf("  %s: sends by %s, receives by %s\n", heading_of(connection).c_str(),
                connection.sends_by.c_str(), connection.receives_by.c_str());
    if (connection.slot) print(*connection.slot, connection);
    print("    ", connection.why);
  }
}

}  // namespace

void print(const SocketsSurvey& survey, bool json) {
  if (json) return print_json(survey);
  for (const SocketsProcess& process : survey.processes) print(process);
  if (survey.processes.empty())
    std::printf("no process with libexs_sockets.so that this user may look into\n");
  if (survey.out_of_reach > 0) std::printf("%zu processes of others were left out\n", survey.out_of_reach);
}

}  // namespace explain
