// A job whose processes are endpoints of this process.
#pragma once

#include <exs/msg.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/exs_fixture.h"

namespace exs::test {

// "host:port"
std::string address_text(const sockaddr_in& address);

// The addresses of a job's processes, which nobody else gets.
class JobPorts {
 public:
  explicit JobPorts(int size);
  [[nodiscard]] int size() const { return static_cast<int>(addresses_.size()); }
  // The endpoint of a rank in this process. `change` sees the config first.
  [[nodiscard]] exm_ep_t join(int rank, const std::function<void(exm_config_t&)>& change = {}) const;

 private:
  std::deque<HeldPort> ports_;
  std::vector<std::string> names_;
  std::vector<const char*> addresses_;
};

class Job {
 public:
  using Change = std::function<void(exm_config_t&)>;
  explicit Job(int size, const Change& change = {});
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] exm_ep_t operator[](int rank) const { return endpoints_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int size() const { return static_cast<int>(endpoints_.size()); }
  // The outcome of exm_finalize; the destructor calls it of those that are left.
  int finalize(int rank);

 private:
  JobPorts ports_;
  std::vector<exm_ep_t> endpoints_;
};

// What is known of a message.
std::string text_of(const exm_status_t& status);

}  // namespace exs::test
