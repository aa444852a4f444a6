// exs_init, exs_fini.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/api_call.h"

using namespace exs;

int exs_init(int version) {
  return c_call([&] { return with_kept_text(Library::begin(version)); });
}

int exs_fini(void) {
  return api_call([](Library&) { return Library::end(); });
}
