// The loads, and their servers. Each load prints a line of JSON.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <string>

namespace sockets_load {

struct Job {
  std::string load;
  std::string where;  // see ends.h
  std::size_t size_bytes = 64;
  double seconds = 0.3;
  bool combines = false;  // combines small sends, as TCP does by default
  std::string preload;    // for the programs that `start` starts
};

// Serves one connection after the other until the program is ended.
[[noreturn]] void serve(const Job& job);

void echo(const Job& job);      // one message there and back
void stream(const Job& job);    // messages one way, and an answer after the last one has been read
void requests(const Job& job);  // a connection for each request
void file(const Job& job);      // calls on a file, without sockets
void start(const Job& job);     // starts of a program that does nothing

}  // namespace sockets_load
