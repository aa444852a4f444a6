// Copies that end when memory is not there, and whose the signals are besides.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/guarded_copy.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "tests/support/pattern.h"
#include "tests/support/require.h"

using namespace exs;
using namespace exs::test;

namespace guarded_copy_test {

// Pages that are there, and behind them some that are not.
class Cliff {
 public:
  static constexpr std::size_t kThere = 16 * 4096;
  explicit Cliff(int rights) {
    void* const made =
        ::mmap(nullptr, 2 * kThere, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(made != MAP_FAILED, "mmap");
    start_ = static_cast<std::byte*>(made);
    if (rights < 0) {
      ::munmap(start_ + kThere, kThere);
    } else {
      ::mprotect(start_ + kThere, kThere, rights);
    }
  }
  ~Cliff() { ::munmap(start_, 2 * kThere); }
  Cliff(const Cliff&) = delete;
  Cliff& operator=(const Cliff&) = delete;
  [[nodiscard]] std::byte* before_edge(std::size_t bytes) const { return start_ + kThere - bytes; }

 private:
  std::byte* start_;
};

constexpr int kUnmapped = -1;

// Lengths around each step of the copy.
std::vector<std::size_t> lengths() {
  std::vector<std::size_t> all;
  for (std::size_t length = 0; length <= 300; ++length) all.push_back(length);
  for (const std::size_t around : {std::size_t{2048}, std::size_t{4096}, std::size_t{40'000}})
    for (std::size_t length = around - 3; length <= around + 3; ++length) all.push_back(length);
  return all;
}

sigjmp_buf back_to_test;
void go_back(int signal) {
  siglongjmp(back_to_test, signal);
}

void hand_on(int /*signal*/) {}

// What the program has for SIGSEGV, while it exists.
class ProgramsHandler {
 public:
  explicit ProgramsHandler(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    ::sigaction(SIGSEGV, &action, &before_);
  }
  ~ProgramsHandler() { ::sigaction(SIGSEGV, &before_, nullptr); }
  ProgramsHandler(const ProgramsHandler&) = delete;
  ProgramsHandler& operator=(const ProgramsHandler&) = delete;
  static bool is(void (*handler)(int)) {
    struct sigaction now {};
    ::sigaction(SIGSEGV, nullptr, &now);
    return now.sa_handler == handler;
  }

 private:
  struct sigaction before_ {};
};

}  // namespace guarded_copy_test

using namespace guarded_copy_test;

BOOST_AUTO_TEST_SUITE(guarded_copy_test)

BOOST_AUTO_TEST_CASE(copies_every_length_and_nothing_beside_it) {
  const std::vector<std::byte> source = pattern(50'000);
  for (int watched = 0; watched < 2; ++watched) {
    std::optional<FaultWatch> watch;
    if (watched != 0) watch.emplace();
    for (const std::size_t length : lengths()) {
      for (const std::size_t shift : {0, 1, 7, 33}) {
        std::vector<std::byte> sink(length + 80, std::byte{0xAA});
        std::vector<std::byte> wanted = sink;
        std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(shift), length,
                    wanted.begin() + 32 + static_cast<std::ptrdiff_t>(shift % 16));
        BOOST_REQUIRE(guarded_copy(sink.data() + 32 + shift % 16, source.data() + shift, length));
        BOOST_REQUIRE_MESSAGE(sink == wanted, length << " bytes, shifted by " << shift);
      }
    }
  }
}

#if defined(__x86_64__)

// Wherever the edge lies in what is copied.
BOOST_AUTO_TEST_CASE(memory_that_is_not_there_ends_the_copy) {
  const FaultWatch watch;
  std::vector<std::byte> here(50'000);
  for (const int rights : {kUnmapped, PROT_NONE}) {
    const Cliff cliff(rights);
    for (const std::size_t length : lengths()) {
      BOOST_REQUIRE(guarded_copy(here.data(), cliff.before_edge(length), length));
      BOOST_REQUIRE(guarded_copy(cliff.before_edge(length), here.data(), length));
      for (const std::size_t there : {std::size_t{0}, length / 3, length - 1}) {
        if (length == 0 || there >= length) continue;
        BOOST_REQUIRE_MESSAGE(!guarded_copy(here.data(), cliff.before_edge(there), length), length);
        BOOST_REQUIRE_MESSAGE(!guarded_copy(cliff.before_edge(there), here.data(), length), length);
      }
    }
  }
  const Cliff read_only(PROT_READ);
  BOOST_TEST(guarded_copy(here.data(), read_only.before_edge(8), 64));
  BOOST_TEST(!guarded_copy(read_only.before_edge(8), here.data(), 64));
}

// As an engine's thread, or one that the program has started so.
BOOST_AUTO_TEST_CASE(a_thread_that_holds_back_all_signals_can_take_faults) {
  const FaultWatch watch;
  const Cliff cliff(PROT_NONE);
  bool copied = true;
  std::thread([&] {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    std::byte here[8];
    copied = guarded_copy(here, cliff.before_edge(0), sizeof here);
  }).join();
  BOOST_TEST(!copied);
}

BOOST_AUTO_TEST_CASE(every_other_fault_is_the_programs) {
  const ProgramsHandler programs(go_back);
  std::optional<FaultWatch> watch(std::in_place);
  BOOST_TEST(!ProgramsHandler::is(go_back));
  const Cliff cliff(PROT_NONE);
  volatile int heard = 0;
  if (const int signal = sigsetjmp(back_to_test, 1); signal == 0) {
    static_cast<void>(*reinterpret_cast<const volatile char*>(cliff.before_edge(0)));
  } else {
    heard = signal;
  }
  BOOST_TEST(heard == SIGSEGV);
  heard = 0;
  if (const int signal = sigsetjmp(back_to_test, 1); signal == 0) {
    ::raise(SIGSEGV);  // sent, so no fault
  } else {
    heard = signal;
  }
  BOOST_TEST(heard == SIGSEGV);
  watch.reset();
  BOOST_TEST(ProgramsHandler::is(go_back));
}

// A second watch is no second handler, and what the program has put there meanwhile stays.
BOOST_AUTO_TEST_CASE(the_last_watch_gives_the_signals_back) {
  const ProgramsHandler programs(go_back);
  std::optional<FaultWatch> first(std::in_place);
  std::optional<FaultWatch> second(std::in_place);
  first.reset();
  BOOST_TEST(!ProgramsHandler::is(go_back));
  second.reset();
  BOOST_TEST(ProgramsHandler::is(go_back));
  first.emplace();
  {
    const ProgramsHandler later(hand_on);
    first.reset();
    BOOST_TEST(ProgramsHandler::is(hand_on));
    first.emplace();  // it may hand on to the watch's, which is not put before it, too
    BOOST_TEST(ProgramsHandler::is(hand_on));
  }
  BOOST_TEST(!ProgramsHandler::is(go_back));
  first.reset();
  BOOST_TEST(ProgramsHandler::is(go_back));
}

#endif

BOOST_AUTO_TEST_SUITE_END()
