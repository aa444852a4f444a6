// Networks for the check: one for clients, where nobody else has names, and hosts behind cables for services that vanish.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <array>
#include <string>

namespace service_check {

// Moves this process into a network of its own with a working loopback interface. Call before any thread exists.
void enter_own_network();

// A host at the other end of a cable. There are two places for hosts.
class Host {
 public:
  static constexpr int kPort = 7000;
  explicit Host(unsigned place);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Returns "address:port" of the services there.
  static std::string address(unsigned place);
  // Called in the process that will be there: makes its network, which gets the cable from join().
  void enter();
  // Called here, once that process has started.
  void join(pid_t process);
  void cut() const;
  void mend() const;

 private:
  unsigned place_;
  bool is_joined_ = false;
  std::array<int, 2> ready_{-1, -1};   // it has its network; later, its end of the cable
  std::array<int, 2> joined_{-1, -1};  // there is a cable
};

}  // namespace service_check
