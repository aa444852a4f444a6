// exs_getstats.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cstring>

#include "src/api/adopt.h"
#include "src/api/api_call.h"
#include "src/api/counters.h"

using namespace exs;

int exs_getstats(int number, exs_stats_t* stats) {
  return api_call([&](Library& library) -> Result<int> {
    if (stats == nullptr) return failure(null_argument());
    if (stats->struct_bytes < offsetof(exs_stats_t, sends_done))
      return failure(wrong_size(stats->struct_bytes, sizeof *stats));  // struct_bytes and one counter
    exs_stats_t found{};
    if (number == -1) {
      found = library.totals();
      for (const auto& socket : library.sockets.all()) {
        if (Session* session = socket->session()) add_stats(found, session_stats(*session));
      }
    } else {
      const auto socket = find_socket(library, number);
      if (!socket) return failure(no_such_socket(number));
      if (Session* session = socket->session()) found = session_stats(*session);
    }
    found.struct_bytes = std::min(stats->struct_bytes, sizeof found);
    std::memcpy(stats, &found, found.struct_bytes);
    return 0;
  });
}
