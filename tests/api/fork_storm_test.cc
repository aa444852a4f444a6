// A process forks while its other threads are inside the library: every child can use it anew, and ends.
//   tests-api --run_test=fork_storm_test -- --forks 5000
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace fork_storm_test {

constexpr unsigned kChildLimitSeconds = 300;
constexpr int kBytes = 100'000;

int forks_wanted() {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  for (int i = 1; i + 1 < suite.argc; ++i) {
    if (std::string_view(suite.argv[i]) == "--forks") return std::atoi(suite.argv[i + 1]);
  }
  return 200;
}

bool transfer(Queue& queue, const Pair& pair, Memory& source, Memory& sink) {
  return exs_recv(pair.right, sink.at(), kBytes, 0, queue.handle(), nullptr, sink.handle()) == 0 &&
         exs_send(pair.left, source.at(), kBytes, 0, queue.handle(), nullptr, source.handle()) == 0 &&
         queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_errno == 0 &&
         queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_errno == 0;
}

// What a child does: all of it anew. 0: it went well.
int use_anew() {
  ::alarm(kChildLimitSeconds);
  if (exs_init(EXS_VERSION) != 0) return 1;
  {
    Queue queue;
    Memory source(kBytes);
    Memory sink(kBytes);
    source.fill(7);
    const Pair pair(queue);
    if (!transfer(queue, pair, source, sink)) return 2;
    if (std::memcmp(source.at(), sink.at(), kBytes) != 0) return 3;
  }
  return exs_fini() == 0 ? 0 : 4;
}

// Threads that keep as many parts of the library busy as there are.
class BusyThreads {
 public:
  BusyThreads() {
    threads_.emplace_back([this] { keep_transferring(); });
    threads_.emplace_back([this] { keep_connecting(); });
    threads_.emplace_back([this] { keep_registering(); });
    threads_.emplace_back([this] { keep_waiting(); });
  }
  ~BusyThreads() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
    BOOST_TEST(failures_ == 0);
    std::printf("meanwhile: %llu transfers, connections, registrations and waits\n",
                static_cast<unsigned long long>(done_));
  }
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;

 private:
  void keep_transferring() {
    Queue queue;
    Memory source(kBytes);
    Memory sink(kBytes);
    const Pair pair(queue);
    for (; !over_; ++done_) failures_ += static_cast<int>(!transfer(queue, pair, source, sink));
  }
  void keep_connecting() {
    Queue queue;
    for (; !over_; ++done_) const Pair pair(queue);
  }
  void keep_registering() {
    for (; !over_; ++done_) {
      exs_mhandle_t region;
      void* const memory = exs_alloc(4096, &region);
      failures_ += static_cast<int>(memory == nullptr || exs_free(memory) != 0);
      const Memory registered(4096);
      const Queue queue(16);
    }
  }
  void keep_waiting() {
    Queue queue;
    exs_event_t event;
    for (; !over_; ++done_)
      failures_ += static_cast<int>(exs_qwait(queue.handle(), &event, 1, 1, 20'000) != 0);
  }

  std::atomic<bool> over_{false};
  std::atomic<int> failures_{0};
  std::atomic<std::uint64_t> done_{0};
  std::vector<std::thread> threads_;
};

}  // namespace fork_storm_test

BOOST_AUTO_TEST_SUITE(fork_storm_test)

BOOST_AUTO_TEST_CASE(every_child_ends_well) {
  if (kSanitized) {
    BOOST_TEST_MESSAGE("skipped: a sanitizer's allocator does not survive the fork of a busy process");
    return;
  }
  const InitializedLibrary library;
  const BusyThreads busy;
  const int forks = forks_wanted();
  for (int i = 0; i < forks; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(use_anew());
    BOOST_REQUIRE(child > 0);
    int status = 0;
    BOOST_REQUIRE_EQUAL(::waitpid(child, &status, 0), child);
    BOOST_REQUIRE_MESSAGE(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                          "child " << i << ": " << (WIFEXITED(status) ? "status " : "signal ")
                                   << (WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
