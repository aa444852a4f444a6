// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/failure.h"

namespace tools {

void fail(const std::string& what, int error) {
  throw Failure(what + ": " + std::generic_category().message(error));
}

}  // namespace tools
