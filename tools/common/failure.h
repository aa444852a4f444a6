// How the tools end early: with one line for the user.
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

namespace tools {

// Something went wrong; what() is the line to print. Exit status 1.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The options make no sense; exit status 2.
struct UsageError : Failure {
  using Failure::Failure;
};

// The program has nothing more to do, and has told the user why: --help or --version was all that was asked, the command
// line is wrong, or the other process has ended.
struct Exit {
  int status;
};

// "WHAT: the system's words for `error`".
[[noreturn]] void fail(const std::string& what, int error);

// What `call` returns. A std::system_error that it throws becomes a Failure that says `what`.
template <typename Call>
decltype(auto) try_to(const std::string& what, Call&& call) {
  try {
    return call();
  } catch (const std::system_error& error) {
    fail(what, error.code().value());
  }
}

}  // namespace tools
