// A service in a process of its own, to be killed: writes the first item of each message or request, a number, to the standard output
// as it gets it. A request is answered with all that it has, and with the status.
//   service-peer KEY-FILE [STATUS]
// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "exs/service.h"

namespace {

int status = 0;

// Its message is released when its long items have been read.
bool answer(const exs_svc_message_t& message) {
  std::vector<exs_iovec_t> longs;
  for (std::uint32_t i = 0; i < message.longs_count; ++i)
    longs.push_back({message.longs[i].data, message.longs[i].length, EXS_MHANDLE_UNREGISTERED, 0});
  const int result =
      exs_svc_reply(&message, status, message.items, static_cast<int>(message.items_count), longs.data(),
                    static_cast<int>(longs.size()), 0, const_cast<exs_svc_message_t*>(&message));
  return result == 0 && !longs.empty();
}

bool take(const exs_svc_event_t& event) {
  if (event.type == EXS_SVC_EVT_SENT) exs_svc_release(static_cast<const exs_svc_message_t*>(event.handle));
  if (event.type != EXS_SVC_EVT_MESSAGE && event.type != EXS_SVC_EVT_REQUEST) return true;
  const exs_svc_item_t& item = event.message->items[0];
  if (::write(STDOUT_FILENO, item.data, item.length) != static_cast<ssize_t>(item.length)) return false;
  if (event.type == EXS_SVC_EVT_MESSAGE || !answer(*event.message)) exs_svc_release(event.message);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  exs_svc_key_t* const key = argc > 1 ? exs_svc_key_load(argv[1]) : nullptr;
  if (argc > 2) status = std::atoi(argv[2]);
  exs_svc_node_t* const node = key == nullptr ? nullptr : exs_svc_node_open(nullptr);
  if (node == nullptr || exs_svc_open(node, key, nullptr, nullptr) == nullptr) {
    std::fprintf(stderr, "service-peer: %s\n", exs_svc_errtext());
    return 1;
  }
  for (;;) {
    std::array<exs_svc_event_t, 16> events;
    const int count = exs_svc_wait(node, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i)
      if (!take(events[static_cast<std::size_t>(i)])) return 1;
  }
}
