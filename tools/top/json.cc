// SPDX-License-Identifier: BSD-2-Clause
#include "tools/top/names.h"
#include "tools/top/report.h"

namespace top {
namespace {

using tools::Json;

// `counts_calls`: else sends and receives are not counted.
Json::Object json_of(const exs::stats::Counters& counters, bool counts_calls) {
  return {{"sends", counts_calls ? Json(counters.sends_done) : Json()},
          {"receives", counts_calls ? Json(counters.receives_done) : Json()},
          {"sent_bytes", counters.bytes_sent},
          {"received_bytes", counters.bytes_received},
          {"immediate_messages", counters.immediates_sent},
          {"immediate_bytes", counters.immediate_bytes},
          {"direct_bytes", counters.direct_bytes},
          {"copied_bytes", counters.copied_bytes},
          {"adverts_sent", counters.adverts_sent},
          {"adverts_received", counters.adverts_received},
          {"acks_sent", counters.acks_sent},
          {"acks_received", counters.acks_received},
          {"rdma_reads", counters.reads_posted},
          {"rdma_writes", counters.writes_posted},
          {"credit_stalls", counters.credit_stalls},
          {"credit_stall_ns", counters.stalled_ns},
          {"errors", counters.errors},
          {"cancelled", counters.cancelled},
          {"timeouts", counters.timed_out}};
}

// Lanes say nothing of when they began.
Json date_or_null(std::uint64_t ns) {
  return ns == 0 ? Json() : Json(date_of_ns(ns));
}

Json::Object json_of(const lanes::SlotFacts& slot) {
  return {{"ring_sent_bytes", slot.ring_sent},
          {"ring_received_bytes", slot.ring_received},
          {"tcp_sent_bytes", slot.tcp_sent},
          {"tcp_received_bytes", slot.tcp_received},
          {"turns", slot.turns},
          {"bells", slot.bells},
          {"sleeps", slot.sleeps}};
}

Json json_of(const ShownConnection& connection) {
  const exs::stats::ConnectionRecord& record = connection.record;
  const std::string carrier = connection.carrier();
  Json::Object out{{"socket", record.socket},
                   {"kind", name_of(record.kind)},
                   {"label", connection.label()},
                   {"state", name_of(record.state)},
                   {"provider", carrier.empty() ? Json() : Json(carrier)},
                   {"local", connection.ours()},
                   {"peer", connection.peer()},
                   {"opened", date_or_null(record.opened_ns)},
                   {"stalled_now", record.counters.stalled_since_ns != 0}};
  if (const std::string refused = connection.refused(); !refused.empty()) {
    out.emplace_back("refused", Json::Object{{"provider", refused},
                                             {"reason", connection.reason()},
                                             {"fact", connection.fact()},
                                             {"cure", connection.cure()}});
  }
  out.emplace_back("counters", json_of(record.counters, !connection.lane));
  if (connection.lane) out.emplace_back("lane", json_of(connection.lane->slot));
  return out;
}

Json json_of(const ShownError& error) {
  return Json::Object{{"count", error.count},
                      {"error", error.error},
                      {"text", error.text},
                      {"first", date_of_ns(error.first_ns)},
                      {"last", date_of_ns(error.last_ns)}};
}

}  // namespace

Json::Array json_of(const std::vector<ShownProcess>& processes) {
  Json::Array all;
  for (const ShownProcess& process : processes) {
    Json::Array connections;
    for (const ConnectionRow& row : process.rows) connections.push_back(json_of(row.connection));
    Json::Array errors;
    for (const ShownError& error : process.snapshot.errors) errors.push_back(json_of(error));
    const std::string& version = process.snapshot.version;
    all.emplace_back(Json::Object{{"pid", process.pid},
                                  {"program", process.program},
                                  {"library_version", version.empty() ? Json() : Json(version)},
                                  {"since", date_or_null(process.snapshot.began_ns)},
                                  {"connections_opened", process.snapshot.opened},
                                  {"connections", std::move(connections)},
                                  {"closed_connections", json_of(process.snapshot.closed, true)},
                                  {"errors", std::move(errors)}});
  }
  return all;
}

}  // namespace top
