// Which boot this process has.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/boot/boot.h"
#include "src/boot/launcher_boot.h"
#include "src/boot/pmix_boot.h"

namespace exs::boot {

// The first that knows this process has it.
Result<std::unique_ptr<Boot>> find_boot() {
  auto found = find_launcher();
  if (!found || *found != nullptr) return found;
  return find_pmix();
}

}  // namespace exs::boot
