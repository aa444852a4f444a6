// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/job.h"

#include <arpa/inet.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace exs::test {
namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "test set-up failed: %s: %s\n", what, errno_name(errno).c_str());
  std::abort();
}

}  // namespace

std::string address_text(const sockaddr_in& address) {
  char host[INET_ADDRSTRLEN];
  inet_ntop(AF_INET, &address.sin_addr, host, sizeof host);
  return std::string(host) + ":" + std::to_string(ntohs(address.sin_port));
}

JobPorts::JobPorts(int size) : ports_(static_cast<std::size_t>(size)) {
  for (const HeldPort& port : ports_) names_.push_back(address_text(port.address()));
  for (const std::string& name : names_) addresses_.push_back(name.c_str());
}

exm_ep_t JobPorts::join(int rank, const std::function<void(exm_config_t&)>& change) const {
  exm_config_t config{};
  config.struct_bytes = sizeof config;
  config.rank = rank;
  config.size = size();
  config.addresses = addresses_.data();
  if (change) change(config);
  exm_ep_t made = nullptr;
  require(exm_init(&config, &made) == 0, "exm_init");
  return made;
}

Job::Job(int size, const Change& change) : ports_(size) {
  for (int rank = 0; rank < size; ++rank) endpoints_.push_back(ports_.join(rank, change));
}

Job::~Job() {
  for (int rank = 0; rank < size(); ++rank) {
    if ((*this)[rank] != nullptr) finalize(rank);
  }
}

int Job::finalize(int rank) {
  return exm_finalize(std::exchange(endpoints_[static_cast<std::size_t>(rank)], nullptr));
}

std::string text_of(const exm_status_t& status) {
  return std::to_string(status.source) + "/" + std::to_string(status.tag) + "/" +
         std::to_string(status.context) + ": " + std::to_string(status.length) +
         (status.error == 0 ? "" : " " + errno_name(status.error));
}

}  // namespace exs::test
