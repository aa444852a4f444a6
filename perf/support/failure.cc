#include "perf/support/failure.h"

#include <system_error>

namespace perf {

void fail(const std::string& what, int error) {
  throw Failure(what + ": " + std::generic_category().message(error));
}

}  // namespace perf
