// Asks the service of a key for ever, one request after the other, and writes the number of each that is answered as a line. Where one
// is not, it asks again.
//   service-asker KEY-FILE
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdint>
#include <cstdio>

#include "exs/service.h"

namespace {

bool ask(exs_svc_peer_t* peer, std::uint64_t& number) {
  exs_svc_request_options_t how{};
  how.struct_bytes = sizeof how;
  how.flags = EXS_SVC_IDEMPOTENT;
  exs_svc_item_t item{&number, sizeof number};
  return exs_svc_request(peer, &item, 1, nullptr, 0, &how, nullptr) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  exs_svc_key_t* const key = argc == 2 ? exs_svc_key_load(argv[1]) : nullptr;
  exs_svc_node_t* const node = key == nullptr ? nullptr : exs_svc_node_open(nullptr);
  exs_svc_id_t id{};
  exs_svc_peer_t* peer = nullptr;
  if (node != nullptr && exs_svc_key_id(key, &id) == 0)
    peer = exs_svc_peer_open(node, nullptr, &id, nullptr, nullptr);
  std::uint64_t number = 0;
  if (peer == nullptr || !ask(peer, number)) {
    std::fprintf(stderr, "service-asker: %s\n", exs_svc_errtext());
    return 1;
  }
  for (exs_svc_event_t event; exs_svc_wait(node, &event, 1, -1) == 1;) {
    if (event.type != EXS_SVC_EVT_REPLY) continue;
    if (event.error == 0) std::printf("%llu\n", static_cast<unsigned long long>(number++));
    std::fflush(stdout);
    exs_svc_release(event.message);
    if (!ask(peer, number)) return 1;
  }
  return 1;
}
