// Numbers as text, and text as numbers. Sizes are binary (1K = 1024 bytes), rates are decimal (1 GB = 10^9
// bytes).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tools {

// Formats as printf does, into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

// Parses "64", "64K", "1M", "2G"; also "64k" and "64KiB". Throws UsageError.
std::uint64_t parse_size(const std::string& word);
// Parses several sizes with commas. Throws UsageError, also for a size above `most`.
std::vector<std::uint64_t> parse_sizes(const std::string& words, std::uint64_t most);
// "64 B", "64 KiB", "1 MiB".
std::string format_size(std::uint64_t size_bytes);
// "4.21 GB/s".
std::string format_rate(double bytes_per_second);
// "12.3 k", "1.25 M".
std::string format_count(double count);

}  // namespace tools
