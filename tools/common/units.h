// Numbers as people write and read them. Sizes are binary (1K = 1024 bytes), rates are decimal (1 GB = 10^9
// bytes).
#pragma once

#include <cstdint>
#include <string>

namespace tools {

// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...);

// "64", "64K", "1M", "2G"; also "64k" and "64KiB". Throws UsageError.
std::uint64_t parse_size(const std::string& word);
// "64 B", "64 KiB", "1 MiB".
std::string size_text(std::uint64_t size_bytes);
// "4.21 GB/s".
std::string rate_text(double bytes_per_second);
// "12.3 k", "1.25 M".
std::string count_text(double count);

}  // namespace tools
