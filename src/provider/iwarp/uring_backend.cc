// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/uring_backend.h"
#include "base/check.h"

#include <liburing.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "src/log/log.h"

namespace exs::iwarp {
namespace {

constexpr unsigned kRingEntries = 32;
constexpr std::int64_t kNoResult = INT64_MIN;

int open_ring(io_uring& ring) {
  io_uring_params parameters{};
  parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
  const int outcome = io_uring_queue_init_params(kRingEntries, &ring, &parameters);
  if (outcome >= 0) io_uring_ring_dontfork(&ring);  // a child could disturb the connections of its parent
  return outcome;
}

}  // namespace

UringBackend::UringBackend() = default;
UringBackend::~UringBackend() {
  drop_ring();
}

// Probes on a separate thread. The kernel takes a ring apart later and then interrupts the thread that made
// it. That thread's epoll_wait(2) would end with EINTR although no signal came.
Status UringBackend::probe() {
  int outcome = 0;
  try {
    std::thread([&outcome] {
      io_uring ring{};
      outcome = open_ring(ring);
      if (outcome >= 0) io_uring_queue_exit(&ring);
    }).join();
  } catch (const std::system_error&) {
    outcome = -EAGAIN;
  }
  return outcome < 0 ? Status(-outcome) : Status();
}

void UringBackend::drop_ring() noexcept {
  if (ring_ != nullptr) io_uring_queue_exit(ring_.get());
  ring_.reset();
}

void UringBackend::bind_thread() {
  drop_ring();
  auto ring = std::make_unique<io_uring>();
  const int outcome = open_ring(*ring);
  if (outcome < 0) {
    log(LogLevel::kInfo, "iwarp: io_uring_setup failed: {}; using plain calls", std::strerror(-outcome));
    why_no_ring_ = no_io_uring("io_uring_setup", -outcome);
    return;
  }
  ring_ = std::move(ring);
  issuer_ = std::this_thread::get_id();
}

void UringBackend::perform(std::span<IoJob> jobs) noexcept {
  if (jobs.size() >= 2 && ring_ != nullptr && std::this_thread::get_id() == issuer_) {
    perform_through_ring(jobs);
    return;
  }
  for (IoJob& job : jobs) run_job(job);
}

void UringBackend::perform_through_ring(std::span<IoJob> jobs) noexcept {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    IoJob& job = jobs[i];
    job.result = kNoResult;
    io_uring_sqe* entry = io_uring_get_sqe(ring_.get());
    EXS_CHECK(entry != nullptr);  // the ring is empty between batches and larger than one
    if (job.is_send) {
      io_uring_prep_sendmsg(entry, job.descriptor, &job.message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
      io_uring_prep_recvmsg(entry, job.descriptor, &job.message, MSG_DONTWAIT);
    }
    io_uring_sqe_set_data64(entry, i);
  }
  ++batches_;
  std::size_t missing = jobs.size();
  while (missing > 0) {
    const int outcome = io_uring_submit_and_wait(ring_.get(), static_cast<unsigned>(missing));
    missing -= reap(jobs);
    if (outcome >= 0 || outcome == -EINTR) continue;
    log(LogLevel::kWarn, "iwarp: io_uring_enter failed: {}; using plain calls from now on",
        std::strerror(-outcome));
    why_no_ring_ = no_io_uring("io_uring_enter", -outcome);
    // The kernel's requests are finished and reaped; the others go with the ring.
    drop_ring();
    for (IoJob& job : jobs) {
      if (job.result == kNoResult) run_job(job);
    }
    return;
  }
}

std::size_t UringBackend::reap(std::span<IoJob> jobs) noexcept {
  std::size_t reaped = 0;
  io_uring_cqe* completion = nullptr;
  while (io_uring_peek_cqe(ring_.get(), &completion) == 0) {
    IoJob& job = jobs[io_uring_cqe_get_data64(completion)];
    const std::int64_t result = completion->res;
    io_uring_cqe_seen(ring_.get(), completion);
    ++reaped;
    job.result = result;
    if (result == -EINTR) run_job(job);
  }
  return reaped;
}

}  // namespace exs::iwarp
