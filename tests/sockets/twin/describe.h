// Commands and answers in words.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "tests/sockets/twin/protocol.h"

namespace twin {

// The name of the called function: "recvmsg".
std::string call_name(const Command& command);
std::string process_name(std::size_t process);
// "B: recv 5, 100 bytes, flags 0x40".
std::string describe(std::size_t process, const Command& command);
// "100" or "-1 EAGAIN", and other values.
std::string describe(const Answer& answer);

}  // namespace twin
