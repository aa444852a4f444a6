#include "perf/ping/rounds.h"

#include "tools/common/failure.h"
#include "tools/common/units.h"

namespace ping {

void next_receive(perf::Channel& channel, std::int64_t patience_ns, std::uint64_t messages,
                  exs_event_t& event) {
  do {
    if (channel.queue().take({&event, 1}, patience_ns) == 0) {
      throw tools::Failure("nothing came from the other end for " +
                           std::to_string(patience_ns / 1'000'000'000) + " s");
    }
    if (event.exs_evt_errno != 0) {
      tools::fail(tools::format("the connection broke after %llu messages",
                                static_cast<unsigned long long>(messages)),
                  event.exs_evt_errno);
    }
  } while (event.exs_evt_type != EXS_EVT_RECV);
}

}  // namespace ping
