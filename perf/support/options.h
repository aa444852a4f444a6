// The command line, which exs-blast and exs-ping share.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "perf/support/method.h"

namespace perf {

// The differences between exs-blast and exs-ping.
struct Benchmark {
  const char* name;
  const char* summary;
  BenchmarkId id;
  std::uint16_t default_port;
  std::uint64_t default_size_bytes;
  std::uint32_t default_depth;
  bool depth_is_an_option;
  bool measures_latency;            // one message at a time: compares all kinds, has histogram and rate
  std::span<const Method> methods;  // one for each kind that it measures
};

enum class Format : std::uint8_t { table, json, csv };
enum class Role : std::uint8_t { client, server, self };

struct Options {
  Role role = Role::client;
  std::string host;
  std::string bind_address;  // empty: any for a server, loopback for --self
  std::uint16_t port = 0;
  std::string provider = "auto";
  std::vector<Job> jobs;  // one after the other
  Limit limit;
  std::uint32_t connections = 1;
  std::uint32_t credits = 0;  // 0: the library's default
  Format format = Format::table;
  bool all_kinds = false;
  bool sweep = false;
  bool histogram = false;
  bool one_client = false;
  bool pin = true;
};

Options parse_options(const Benchmark& benchmark, int argc, const char* const* argv);
// By size: enough to settle, and no more than about 64 MiB.
std::uint32_t warmup_messages_for(std::uint64_t size_bytes, std::uint64_t count);

}  // namespace perf
