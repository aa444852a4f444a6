// Items of messages as text. Their bytes may be anything.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace services {

// Throws tools::UsageError unless the word is an even number of hexadecimal digits.
std::string bytes_of_hex(const std::string& word);
std::string hex_of(const std::string& bytes);

// Keeps printable UTF-8, newlines and tabs. Each other byte becomes \xNN, so a service cannot control the user's terminal.
std::string printable(const std::string& bytes);

}  // namespace services
