// Property tests run the same schedules everywhere unless RC_PARAMS says otherwise, and quietly: the engine
// logs a line for each protocol error.
#pragma once

#include <cstdlib>

namespace exs::test {

struct PropertyDefaults {
  PropertyDefaults() {
    setenv("RC_PARAMS", "seed=20250131 max_success=3000 max_size=100", 0);
    setenv("EXS_LOG", "off", 0);
  }
};

}  // namespace exs::test
