// exm_iprobe, exm_probe, exm_improbe, exm_mprobe.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/message/arguments.h"
#include "src/message/ep.h"

namespace exs {
namespace {

Result<int> probe_once(Endpoint& endpoint, int from, int tag, int context, exm_status_t* found,
                       exm_message_t* taken) {
  if (const Status status = check_source(endpoint, from, context); !status.ok()) return failure(status);
  endpoint.look_at_arrivals();
  return endpoint.probe(criteria_of(from, tag, context), found, taken) ? 1 : 0;
}

Result<int> probe_and_wait(Endpoint& endpoint, int from, int tag, int context, exm_status_t* found,
                           exm_message_t* taken, std::int64_t timeout_ns) {
  if (const Status status = check_source(endpoint, from, context); !status.ok()) return failure(status);
  return api_result(endpoint.probe_and_wait(criteria_of(from, tag, context), found, taken, timeout_ns));
}

}  // namespace
}  // namespace exs

using namespace exs;

int exm_iprobe(exm_ep_t ep, int from, int tag, int context, exm_status_t* status) {
  return message_call(
      ep, [&](Endpoint& endpoint) { return probe_once(endpoint, from, tag, context, status, nullptr); });
}

int exm_probe(exm_ep_t ep, int from, int tag, int context, exm_status_t* status, int64_t timeout_ns) {
  return message_call(ep, [&](Endpoint& endpoint) {
    return probe_and_wait(endpoint, from, tag, context, status, nullptr, timeout_ns);
  });
}

int exm_improbe(exm_ep_t ep, int from, int tag, int context, exm_message_t* message, exm_status_t* status) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (message == nullptr) return failure(null_argument());
    return probe_once(endpoint, from, tag, context, status, message);
  });
}

int exm_mprobe(exm_ep_t ep, int from, int tag, int context, exm_message_t* message, exm_status_t* status,
               int64_t timeout_ns) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (message == nullptr) return failure(null_argument());
    return probe_and_wait(endpoint, from, tag, context, status, message, timeout_ns);
  });
}
