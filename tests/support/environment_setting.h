// Sets an environment variable for one scope. For a test of one thread.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace exs::test {

class EnvironmentSetting {
 public:
  EnvironmentSetting(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  ~EnvironmentSetting() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  EnvironmentSetting(const EnvironmentSetting&) = delete;
  EnvironmentSetting& operator=(const EnvironmentSetting&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace exs::test
