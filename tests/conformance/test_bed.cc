// SPDX-License-Identifier: BSD-2-Clause
#include "tests/conformance/test_bed.h"

#include <unistd.h>

#include <sys/mman.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>

namespace exs::test {

Pair& TestBed::pair() {
  if (!pair_) pair_.emplace(queue);
  return *pair_;
}

void* TestBed::read_only() {
  if (read_only_ == nullptr)
    read_only_ = ::mmap(nullptr, kReadOnlyBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return read_only_;
}

TestBed::~TestBed() {
  if (read_only_ != nullptr) ::munmap(read_only_, kReadOnlyBytes);
  for (const int socket : {fresh_, connecting_, rival_}) {
    if (socket >= 0) exs_close(socket);
  }
  if (pair_) {  // the peer never receives the open sends, so the close waits only briefly
    for (const int end : {pair_->left, pair_->right}) set_option(end, EXS_SO_LINGER_MS, 50);
  }
  pair_.reset();  // so that the receives in it end
  exs_free(allocated_);
  for (const int end : kernel_) {
    if (end >= 0) ::close(end);
  }
}

int TestBed::forestalled() {
  if (rival_ >= 0) return fresh_;
  rival_ = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  sockaddr_in address = loopback();
  socklen_t length = sizeof address;
  exs_bind(fresh(), generic(address), sizeof address);
  exs_getsockname(fresh(), generic(address), &length);
  exs_bind(rival_, generic(address), sizeof address);
  exs_listen(rival_, 1);
  return fresh_;
}

int TestBed::kernel() {
  if (kernel_[0] < 0 && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, kernel_) != 0) kernel_[0] = -1;
  return kernel_[0];
}

void TestBed::receiving() {
  if (receiving_) return;
  receiving_ = true;
  for (int i = 0; i < 2; ++i) exs_recv(connected(), at(), 1, 0, q(), nullptr, mh());
}

void* TestBed::receiving_allocated() {
  if (allocated_ == nullptr) {
    exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED;
    allocated_ = exs_alloc(4096, &region);
    exs_recv(connected(), allocated_, 64, 0, q(), nullptr, region);
  }
  return allocated_;
}

int TestBed::connecting() {
  if (connecting_ < 0) {
    connecting_ = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    exs_connect(connecting_, name(), kNameBytes, 0, q(), nullptr);
    // Waits until the set-up needs an accept: it opens descriptors on the way.
    const exs_pollfd_t asked{listening(), EXS_POLLIN, nullptr};
    exs_poll(&asked, 1, 0, q());
    queue.next_of(listening(), EXS_EVT_POLL);
  }
  return connecting_;
}

void check_refusal(const Refusal& refusal) {
  TestBed test_bed;
  // Creates what the call needs, once for each shard: shards are created when first needed, in turn.
  for (int i = 0; i < 4; ++i) refusal.call(test_bed);
  while (!test_bed.queue.empty()) test_bed.queue.next();
  const int slots_before = attribute(test_bed.q(), EXS_QATTR_RESERVED_SLOTS);
  const std::size_t descriptors_before = open_descriptors();
  errno = 0;
  const int result = refusal.call(test_bed);
  const int error = errno;
  BOOST_TEST(result == -1);
  BOOST_TEST(errno_name(error) == errno_name(refusal.error));
  BOOST_TEST(test_bed.queue.empty());
  BOOST_TEST(attribute(test_bed.q(), EXS_QATTR_RESERVED_SLOTS) == slots_before);
  // Fewer are possible: a connection that the preparations of the call have closed may end meanwhile.
  BOOST_TEST(open_descriptors() <= descriptors_before);
}

}  // namespace exs::test
