// What /proc tells of one process, which is never stopped for it. Thread: the owner's.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace explain {

// A kernel descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

// The folder stays that process's when another one gets its number. Each call tells an errno, or 0.
class ProcFolder {
 public:
  explicit ProcFolder(pid_t pid);

  // A large file is cut off.
  int read(const std::string& name, std::string& text) const;
  // What a link means; empty: it cannot be told.
  [[nodiscard]] std::string link(const std::string& name) const;
  // use(number, what it is): "socket:[123]", a path.
  int each_descriptor(const std::function<void(int, const std::string&)>& use) const;
  // What the number means, opened anew for reading.
  [[nodiscard]] int open_descriptor(int number) const;

 private:
  Descriptor folder_;
};

// Of all processes that may be seen.
std::vector<pid_t> all_processes();

}  // namespace explain
