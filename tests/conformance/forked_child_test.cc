// Processes that fork: nothing that a child writes, whatever rights it has by then, reaches its parent or a peer.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace forked_child_test {

constexpr std::size_t kBytes = 100'000;

void end_quietly_by_fault() {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(SIGSEGV, SIG_DFL);
}

int end_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) != child) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  return end_of(child);
}

// Whether a child has nothing of what MADV_DONTFORK names. User Mode Linux does not tell its host of that.
bool kernel_leaves_out() {
  const UniqueFd file(::memfd_create("probe", MFD_CLOEXEC));
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  BOOST_REQUIRE_EQUAL(::ftruncate(file.get(), static_cast<off_t>(page)), 0);
  void* const memory = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  BOOST_REQUIRE(memory != MAP_FAILED);
  auto& byte = *static_cast<volatile char*>(memory);
  byte = 'p';
  ::madvise(memory, page, MADV_DONTFORK);
  in_child([&] {
    end_quietly_by_fault();
    byte = 'c';
    return 0;
  });
  const bool leaves_out = byte == 'p';
  ::munmap(memory, page);
  if (!leaves_out) BOOST_TEST_MESSAGE("skipped: this kernel does not know MADV_DONTFORK");
  return leaves_out;
}

// Mappings and descriptors by which memory of the library's could be changed.
std::string shared_with_parent() {
  std::string found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const bool is_shared = line.find(" rw-s ") != std::string::npos;
    if (is_shared &&
        (line.find("/memfd:exs") != std::string::npos || line.find("io_uring") != std::string::npos))
      found += line + '\n';
  }
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.rfind("/memfd:exs", 0) == 0) found += target + '\n';
  }
  return found;
}

struct Fixture {
  InitializedLibrary library;
  Queue queue{64};
  Pair pair{queue};
  exs_mhandle_t region = EXS_MHANDLE_INVALID;
  char* memory = static_cast<char*>(exs_alloc(kBytes, &region));
  Memory sink{kBytes};

  Fixture() {
    BOOST_REQUIRE(memory != nullptr);
    std::strcpy(memory, "the parent's");
  }
  ~Fixture() { exs_free(memory); }

  std::string sent() {
    BOOST_REQUIRE_EQUAL(exs_recv(pair.right, sink.at(), kBytes, 0, queue.handle(), nullptr, sink.handle()),
                        0);
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory, kBytes, 0, queue.handle(), nullptr, region), 0);
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
    BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
    return reinterpret_cast<const char*>(sink.at());
  }
};

}  // namespace forked_child_test

BOOST_AUTO_TEST_SUITE(forked_child_test)

BOOST_FIXTURE_TEST_CASE(a_child_has_what_memory_held_and_changes_its_own, Fixture) {
  if (!kernel_leaves_out()) return;
  BOOST_TEST(sent() == "the parent's");
  const int result = in_child([&] {
    if (std::strcmp(memory, "the parent's") != 0) return 1;
    std::strcpy(memory, "the child's");
    return std::strcmp(memory, "the child's") == 0 ? 0 : 2;
  });
  BOOST_TEST(result == 0);
  BOOST_TEST(std::string(memory) == "the parent's");
  BOOST_TEST(sent() == "the parent's");
}

BOOST_FIXTURE_TEST_CASE(a_child_shares_no_memory_and_no_descriptor_of_any, Fixture) {
  BOOST_TEST(sent() == "the parent's");
  BOOST_TEST(!shared_with_parent().empty());  // or nothing is looked for
  const int result = in_child([] {
    const std::string found = shared_with_parent();
    if (::write(STDERR_FILENO, found.data(), found.size()) < 0) return 2;
    return found.empty() ? 0 : 1;
  });
  BOOST_TEST(result == 0);
  BOOST_TEST(sent() == "the parent's");
}

BOOST_FIXTURE_TEST_CASE(a_child_that_the_library_does_not_know_of_has_nothing, Fixture) {
  if (!kernel_leaves_out()) return;
  const auto child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) {
    end_quietly_by_fault();
    memory[0] = 'c';
    ::_exit(0);
  }
  BOOST_TEST(end_of(child) == -SIGSEGV);
  BOOST_TEST(sent() == "the parent's");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
