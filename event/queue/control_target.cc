// SPDX-License-Identifier: BSD-2-Clause
#include "event/queue/control_target.h"

namespace exs {

exs_event_t control_event(const ControlTarget& target, const KernelDescriptor& number, int type, int error) {
  if (type == EXS_EVT_CLOSE && error == 0 && number.is_lost()) error = EBADF;
  exs_event_t event{};
  event.exs_evt_type = type;
  event.exs_evt_errno = error;
  event.exs_evt_socket = number.number();
  event.exs_evt_ahandle = target.handle;
  return event;
}

}  // namespace exs
