// The servers of the loads.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdio>
#include <vector>

#include "perf/sockets/load/ends.h"
#include "perf/sockets/load/loads.h"

namespace sockets_load {
namespace {

// Sends a message back when all of it has arrived.
void serve_echo(const Socket& peer, std::vector<char>& message) {
  while (peer.receive_all(message.data(), message.size())) peer.send_all(message.data(), message.size());
}

void serve_stream(const Socket& peer) {
  constexpr std::size_t kReadBytes = 64 * 1024;
  static std::vector<char> memory(kReadBytes);
  unsigned long read = 0;
  while (const std::size_t got = peer.receive_some(memory.data(), memory.size())) read += got;
  peer.send_all(reinterpret_cast<const char*>(&read), sizeof read);
}

}  // namespace

void serve(const Job& job) {
  std::string told;
  const Socket listener = listen_at(job.where, told);
  std::printf("%s\n", told.c_str());
  std::fflush(stdout);
  std::vector<char> message(job.size_bytes);
  for (;;) {
    const Socket peer = listener.accept_one();
    if (!job.combines) peer.send_at_once();
    if (job.load == "stream") {
      serve_stream(peer);
    } else {
      serve_echo(peer, message);
    }
  }
}

}  // namespace sockets_load
