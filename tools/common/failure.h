// How the tools end early: with one line for the user.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

namespace tools {

// An error; what() is the line to print. Exit status 1.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Invalid options. Exit status 2.
struct UsageError : Failure {
  using Failure::Failure;
};

// Ends the program after the user has got the reason: --help, --version, an invalid command line, or the end of the other process.
struct Exit {
  int status;
};

// Throws Failure "WHAT: the system's words for `error`".
[[noreturn]] void fail(const std::string& what, int error);

// Returns the result of `call`. A std::system_error becomes a Failure that begins with `what`.
template <typename Call>
decltype(auto) try_to(const std::string& what, Call&& call) {
  try {
    return call();
  } catch (const std::system_error& error) {
    fail(what, error.code().value());
  }
}

}  // namespace tools
