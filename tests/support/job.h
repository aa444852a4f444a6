// A job whose processes are all endpoints of this process.
// SPDX-License-Identifier: BSD-2-Clause
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

// Addresses for the processes of a job that no other program gets.
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
  // Returns the outcome of exm_finalize. The destructor calls it for the remaining endpoints.
  int finalize(int rank);

 private:
  JobPorts ports_;
  std::vector<exm_ep_t> endpoints_;
};

// The status of a message in words.
std::string text_of(const exm_status_t& status);

}  // namespace exs::test
