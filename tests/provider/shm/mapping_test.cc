// Which descriptors of a peer are mapped.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "tests/support/confinement.h"

using namespace exs;
using namespace exs::shm;

namespace mapping_test {

constexpr std::size_t kBytes = 3 * 4096;
constexpr int kBoth = F_SEAL_SHRINK | F_SEAL_GROW;

UniqueFd memory(std::size_t bytes, int seals) {
  UniqueFd made(::memfd_create("mapping_test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  BOOST_REQUIRE(::ftruncate(made.get(), static_cast<off_t>(bytes)) == 0);
  BOOST_REQUIRE(::fcntl(made.get(), F_ADD_SEALS, seals) == 0);
  return made;
}

int refusal(int descriptor) {
  const auto mapping = Mapping::of_peer(descriptor, kBytes);
  return mapping ? 0 : mapping.error().error();
}

UniqueFd file_in(const std::string& folder) {
  std::string name = folder + "/exs-mapping_test-XXXXXX";
  UniqueFd made(::mkostemp(name.data(), O_CLOEXEC));
  BOOST_REQUIRE(made.valid());
  ::unlink(name.c_str());
  BOOST_REQUIRE(::ftruncate(made.get(), kBytes) == 0);
  return made;
}

}  // namespace mapping_test

BOOST_AUTO_TEST_SUITE(mapping_test)

BOOST_AUTO_TEST_CASE(what_one_end_writes_the_other_reads) {
  UniqueFd descriptor;
  const auto ours = Mapping::create(kBytes, descriptor);
  BOOST_REQUIRE(ours.has_value());
  BOOST_REQUIRE(ours->bytes().size() == kBytes);
  BOOST_TEST((ours->bytes()[0] == std::byte{0}));
  const auto theirs = Mapping::of_peer(descriptor.get(), kBytes);
  BOOST_REQUIRE(theirs.has_value());
  descriptor.reset();
  ours->bytes()[kBytes - 1] = std::byte{7};
  BOOST_TEST((theirs->bytes()[kBytes - 1] == std::byte{7}));
  theirs->bytes()[0] = std::byte{8};
  BOOST_TEST((ours->bytes()[0] == std::byte{8}));
}

BOOST_AUTO_TEST_CASE(its_size_is_for_ever) {
  UniqueFd descriptor;
  const auto mapping = Mapping::create(kBytes, descriptor);
  BOOST_REQUIRE(mapping.has_value());
  BOOST_TEST(::ftruncate(descriptor.get(), 4096) != 0);
  BOOST_TEST(::ftruncate(descriptor.get(), 2 * kBytes) != 0);
  BOOST_TEST(::fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_WRITE) != 0);
  BOOST_TEST((::fcntl(descriptor.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

BOOST_AUTO_TEST_CASE(a_mapping_moves) {
  UniqueFd descriptor;
  auto mapping = Mapping::create(kBytes, descriptor);
  BOOST_REQUIRE(mapping.has_value());
  Mapping first(std::move(*mapping));
  BOOST_TEST(mapping->bytes().empty());
  Mapping second;
  second = std::move(first);
  BOOST_TEST(second.bytes().size() == kBytes);
  second.bytes()[0] = std::byte{1};
}

BOOST_AUTO_TEST_CASE(a_memfd_with_both_seals_is_taken) {
  BOOST_TEST(refusal(memory(kBytes, kBoth).get()) == 0);
  BOOST_TEST(refusal(memory(kBytes, kBoth | F_SEAL_SEAL).get()) == 0);
}

BOOST_AUTO_TEST_CASE(a_memfd_that_could_shrink_or_grow_is_not) {
  BOOST_TEST(refusal(memory(kBytes, 0).get()) == EPROTO);
  BOOST_TEST(refusal(memory(kBytes, F_SEAL_GROW).get()) == EPROTO);
  BOOST_TEST(refusal(memory(kBytes, F_SEAL_SHRINK).get()) == EPROTO);
}

BOOST_AUTO_TEST_CASE(a_memfd_that_cannot_be_written_is_not) {
  BOOST_TEST(refusal(memory(kBytes, kBoth | F_SEAL_WRITE).get()) == EPROTO);
  BOOST_TEST(refusal(memory(kBytes, kBoth | F_SEAL_FUTURE_WRITE).get()) == EPROTO);
}

BOOST_AUTO_TEST_CASE(a_memfd_of_another_size_is_not) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, kBytes - 1, kBytes + 1, 2 * kBytes}) {
    BOOST_TEST(refusal(memory(bytes, kBoth).get()) == EPROTO);
  }
}

BOOST_AUTO_TEST_CASE(anything_else_is_not) {
  int ends[2];
  BOOST_REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd from(ends[0]);
  const UniqueFd to(ends[1]);
  BOOST_TEST(refusal(from.get()) == EPROTO);
  BOOST_TEST(refusal(-1) == EPROTO);
  BOOST_TEST(refusal(file_in("/tmp").get()) == EPROTO);
  BOOST_TEST(refusal(file_in("/dev/shm").get()) == EPROTO);
  const UniqueFd zero(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  BOOST_TEST(refusal(zero.get()) == EPROTO);
}

// What the peer has shared is right, so the connection must not end for it.
BOOST_AUTO_TEST_CASE(a_program_that_locks_its_memory_lacks_it) {
  if (::geteuid() != 0) return;  // only root becomes another user
  const UniqueFd shared = memory(kBytes, kBoth);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool locks = exs::test::lower_limit(RLIMIT_MEMLOCK, kBytes - 4096) &&
                       exs::test::become_user(65534) && exs::test::lock_later_memory();
    ::_exit(locks ? refusal(shared.get()) : 255);
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == ENOMEM);
}

BOOST_AUTO_TEST_CASE(huge_pages_are_not) {
  constexpr std::size_t kHugeBytes = std::size_t{2} << 20U;
  const UniqueFd huge(::memfd_create("mapping_test", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB));
  if (!huge.valid()) return;  // a kernel without them
  BOOST_REQUIRE(::ftruncate(huge.get(), kHugeBytes) == 0);
  BOOST_REQUIRE(::fcntl(huge.get(), F_ADD_SEALS, kBoth) == 0);
  const auto mapping = Mapping::of_peer(huge.get(), kHugeBytes);
  BOOST_TEST((mapping ? 0 : mapping.error().error()) == EPROTO);
}

BOOST_AUTO_TEST_SUITE_END()
