// A service in a process of its own, to be killed: writes the first item of each message, a number, to the standard output as it gets it.
//   service-peer KEY-FILE
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "exs/service.h"

int main(int argc, char** argv) {
  exs_svc_key_t* const key = argc == 2 ? exs_svc_key_load(argv[1]) : nullptr;
  exs_svc_node_t* const node = key == nullptr ? nullptr : exs_svc_node_open(nullptr);
  if (node == nullptr || exs_svc_open(node, key, nullptr, nullptr) == nullptr) {
    std::fprintf(stderr, "service-peer: %s\n", exs_svc_errtext());
    return 1;
  }
  for (;;) {
    std::array<exs_svc_event_t, 16> events;
    const int count = exs_svc_wait(node, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const exs_svc_event_t& event = events[static_cast<std::size_t>(i)];
      if (event.type != EXS_SVC_EVT_MESSAGE) continue;
      const exs_svc_item_t& item = event.message->items[0];
      if (::write(STDOUT_FILENO, item.data, item.length) != static_cast<ssize_t>(item.length)) return 1;
      exs_svc_release(event.message);
    }
  }
}
