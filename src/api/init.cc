// exs_init, exs_fini.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/api_call.h"

using namespace exs;

int exs_init(int version) {
  try {
    const Status status = Library::begin(version);
    if (status.ok()) return 0;
    call_failed("exs_init", status);
  } catch (const std::bad_alloc&) {
    call_failed("exs_init", Status(ENOMEM));
  }
  return -1;
}

int exs_fini(void) {
  return api_call([](Library&) { return Library::end(); });
}
