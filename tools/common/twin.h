// Two processes on one machine, each with a core of its own where there are two.
#pragma once

#include <functional>

namespace tools {

// Pins this process to the core with this index among those it may use. False: there are fewer than two.
bool pin_to(unsigned index);

// A child process made by fork: call before any thread exists. It ends when its parent does.
class Twin {
 public:
  // The child runs `body` and exits with what it returns.
  explicit Twin(const std::function<int()>& body);
  ~Twin() { end(); }
  Twin(const Twin&) = delete;
  Twin& operator=(const Twin&) = delete;

  // Ends the child with SIGTERM, if it still runs, and waits for it. Returns its exit status, or -1 if a
  // signal ended it.
  int end();
  [[nodiscard]] int process() const { return process_; }

 private:
  int process_;
  int status_ = 0;
};

}  // namespace tools
