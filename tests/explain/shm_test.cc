// Why shared memory is refused or limited: each cause is brought about for real, and both ends tell it.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/unique_fd.h"
#include "src/provider/shm/identity.h"
#include "src/provider/shm/listening_socket.h"
#include "src/wire/paths.h"
#include "tests/explain/man_in_the_middle.h"
#include "tests/explain/two_ends.h"
#include "tests/support/confinement.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace shm_test {

constexpr uid_t kNobody = 65534;
constexpr uid_t kSomebody = 65533;

End confined(Confinement confine) {
  End end;
  end.confine = std::move(confine);
  return end;
}

End without(std::initializer_list<long> calls, int error, long first_argument = -1) {
  return confined([numbers = std::vector<long>(calls), error, first_argument] {
    return std::all_of(numbers.begin(), numbers.end(),
                       [&](long number) { return deny_system_calls({number}, error, first_argument); });
  });
}

End as_user(uid_t user) {
  return confined([user] { return become_user(user); });
}

// The network carries it; the end that found out says so, the other has it from there.
void check_refused_by_server(const End& server, const End& client, int code) {
  const Ends ends = connect_ends(server, client);
  if (!ends.ran()) return;
  check_used(ends.server, "iwarp");
  check_used(ends.client, "iwarp");
  check_refused(ends.server, "shm", code, false);
  check_refused(ends.client, "shm", code, true);
}

void check_refused_by_client(const End& server, const End& client, int code) {
  const Ends ends = connect_ends(server, client);
  if (!ends.ran()) return;
  check_used(ends.server, "iwarp");
  check_used(ends.client, "iwarp");
  check_refused(ends.client, "shm", code, false);
  check_refused(ends.server, "shm", code, true);
}

// What the client requires cannot be had: no connection, and its reason.
void check_required(const End& server, End client, int code) {
  client.wish = "require:shm";
  const Ends ends = connect_ends(server, client);
  if (!ends.ran()) return;
  BOOST_TEST(ends.client.error == EOPNOTSUPP);
  const exs_reason_t* reason = ends.client.find("shm", EXS_VERDICT_REFUSED);
  BOOST_REQUIRE(reason != nullptr);
  BOOST_TEST(reason->code == code);
  BOOST_TEST(ends.client.find("iwarp", EXS_VERDICT_USED) == nullptr);
}

// The invitation inside the private data of a request.
constexpr std::size_t kWordsOffset = wire::kPathsOffset + 6;

shm::Invitation invitation_in(const std::vector<std::byte>& private_data) {
  const auto request = wire::decode_paths_request(private_data);
  const auto found = request ? shm::Invitation::decode(request->words) : std::nullopt;
  if (!found) std::abort();
  return *found;
}

void put_invitation(std::vector<std::byte>& private_data, const shm::Invitation& invitation) {
  const auto words = invitation.encode();
  std::copy(words.begin(), words.end(), private_data.begin() + kWordsOffset);
}

}  // namespace shm_test

BOOST_AUTO_TEST_SUITE(shm_test)

BOOST_AUTO_TEST_CASE(nothing_limits_two_processes_of_one_user) {
  const Ends ends = connect_ends({}, {});
  for (const Told& end : {ends.server, ends.client}) {
    check_used(end, "shm");
    const exs_reason_t* limit = end.find("shm", EXS_VERDICT_LIMITED);
    // The sandbox that this test itself runs in may refuse process_vm_readv.
    if (limit != nullptr) BOOST_TEST(limit->code == int{EXS_REASON_NO_PTRACE});
  }
}

// A kernel of its own tells another boot identity.
BOOST_AUTO_TEST_CASE(other_host) {
  const End elsewhere = confined([] {
    if (!enter_new_namespace(CLONE_NEWNS)) return false;
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
    char path[] = "/tmp/exs-boot-id-XXXXXX";
    const UniqueFd file(::mkstemp(path));
    constexpr char kBootId[] = "01234567-89ab-cdef-0123-456789abcdef\n";
    const bool mounted = ::write(file.get(), kBootId, sizeof kBootId - 1) == sizeof kBootId - 1 &&
                         ::mount(path, "/proc/sys/kernel/random/boot_id", nullptr, MS_BIND, nullptr) == 0;
    ::unlink(path);
    return mounted;
  });
  check_refused_by_server({}, elsewhere, EXS_REASON_OTHER_HOST);
  check_refused_by_server(elsewhere, {}, EXS_REASON_OTHER_HOST);
  check_required({}, elsewhere, EXS_REASON_OTHER_HOST);
}

// As with a container whose port is published: the TCP socket is outside, the process inside.
BOOST_AUTO_TEST_CASE(other_network_namespace) {
  End inside;
  inside.confine_library = [] { return enter_new_namespace(CLONE_NEWNET); };
  check_refused_by_server({}, inside, EXS_REASON_OTHER_NETNS);
  check_refused_by_server(inside, {}, EXS_REASON_OTHER_NETNS);
  check_required(inside, {}, EXS_REASON_OTHER_NETNS);
}

BOOST_AUTO_TEST_CASE(other_user) {
  check_refused_by_server(as_user(kSomebody), as_user(kNobody), EXS_REASON_OTHER_USER);
  check_refused_by_server({}, as_user(kNobody), EXS_REASON_OTHER_USER);
  check_refused_by_server(as_user(kNobody), {}, EXS_REASON_OTHER_USER);
  check_required({}, as_user(kNobody), EXS_REASON_OTHER_USER);
}

BOOST_AUTO_TEST_CASE(other_user_where_only_one_end_lets_the_other_in) {
  End open = as_user(kSomebody);
  open.environment = {{"EXS_SHM_USERS", "any"}};
  check_refused_by_server(open, as_user(kNobody), EXS_REASON_OTHER_USER);
  check_refused_by_server(as_user(kNobody), open, EXS_REASON_OTHER_USER);
}

BOOST_AUTO_TEST_CASE(other_user_that_both_ends_let_in_cannot_read_the_memory_of_the_other) {
  End server = as_user(kSomebody);
  server.environment = {{"EXS_SHM_USERS", std::to_string(kNobody)}};
  End client = as_user(kNobody);
  client.environment = {{"EXS_SHM_USERS", "any"}};
  const Ends ends = connect_ends(server, client);
  if (!ends.ran()) return;
  for (const Told& end : {ends.server, ends.client}) {
    check_used(end, "shm");
    check_limited(end, "shm", EXS_REASON_NO_PTRACE);
  }
}

BOOST_AUTO_TEST_CASE(no_unix_socket) {
  const End mute = without({SYS_socket}, EACCES, AF_UNIX);
  check_refused_by_server(mute, {}, EXS_REASON_NO_UNIX_SOCKET);
  check_refused_by_client({}, mute, EXS_REASON_NO_UNIX_SOCKET);
  check_required({}, mute, EXS_REASON_NO_UNIX_SOCKET);
}

BOOST_AUTO_TEST_CASE(no_memfd) {
  for (const int error : {EPERM, ENOSYS}) {
    const End poor = without({SYS_memfd_create}, error);
    check_refused_by_server(poor, {}, EXS_REASON_NO_MEMFD);
    check_refused_by_server({}, poor, EXS_REASON_NO_MEMFD);
    check_required({}, poor, EXS_REASON_NO_MEMFD);
  }
}

// The limit comes down to a few more than are open when the connection is made: each step of the set-up is
// the one that finds none left, and with enough of them nothing is refused.
BOOST_AUTO_TEST_CASE(no_descriptors) {
  if (kSanitized) {
    std::puts("skipped: the sanitizer needs descriptors of its own");
    return;
  }
  constexpr std::size_t kMost = 24;
  for (const bool client_is_poor : {true, false}) {
    int refused = 0;
    bool met = false;
    for (std::size_t spare = client_is_poor ? 0 : 1; spare < kMost && !met; ++spare) {
      End poor;
      poor.confine_connection = [spare] {
        return lower_limit(RLIMIT_NOFILE, open_descriptors() - 1 + spare);
      };
      const Ends ends = client_is_poor ? connect_ends({}, poor) : connect_ends(poor, {});
      BOOST_TEST_CONTEXT("spare descriptors: " << spare << ", of the client: " << client_is_poor) {
        BOOST_REQUIRE(ends.ran());
        met = ends.client.provider == "shm";
        check_used(ends.server, met ? "shm" : "iwarp");
        check_used(ends.client, met ? "shm" : "iwarp");
        if (met) continue;
        const Told& finder = client_is_poor ? ends.client : ends.server;
        const Told& other = client_is_poor ? ends.server : ends.client;
        const exs_reason_t* reason = finder.find("shm", EXS_VERDICT_REFUSED);
        BOOST_REQUIRE(reason != nullptr);
        BOOST_TEST(reason->code == int{EXS_REASON_NO_DESCRIPTORS});
        reason = other.find("shm", EXS_VERDICT_REFUSED);
        BOOST_REQUIRE(reason != nullptr);
        BOOST_TEST(reason->code == int{EXS_REASON_NO_DESCRIPTORS});
        ++refused;
      }
    }
    BOOST_TEST(met);
    BOOST_TEST(refused >= 2);
  }
}

BOOST_AUTO_TEST_CASE(no_ptrace_by_a_seccomp_filter) {
  for (const int error : {EPERM, ENOSYS}) {
    const End blind = without({SYS_process_vm_readv, SYS_process_vm_writev}, error);
    const Ends server_is = connect_ends(blind, {});
    BOOST_REQUIRE(server_is.ran());
    check_used(server_is.server, "shm");
    check_used(server_is.client, "shm");
    check_limited(server_is.server, "shm", EXS_REASON_NO_PTRACE);
    const Ends client_is = connect_ends({}, blind);
    check_used(client_is.server, "shm");
    check_used(client_is.client, "shm");
    check_limited(client_is.client, "shm", EXS_REASON_NO_PTRACE);
  }
}

// Without a hold on the process, its number could mean another one day.
BOOST_AUTO_TEST_CASE(no_ptrace_where_the_process_cannot_be_held) {
  const End blind = confined([] { return deny_peer_pidfd() && deny_system_calls({SYS_pidfd_open}, EPERM); });
  const Ends ends = connect_ends(blind, {});
  BOOST_REQUIRE(ends.ran());
  check_used(ends.server, "shm");
  check_used(ends.client, "shm");
  check_limited(ends.server, "shm", EXS_REASON_NO_PTRACE);
}

// What a process that has secrets does: no other of its user may look into it.
BOOST_AUTO_TEST_CASE(no_ptrace_of_a_process_that_is_not_dumpable) {
  const End secretive = confined([] { return become_user(kNobody) && ::prctl(PR_SET_DUMPABLE, 0) == 0; });
  const Ends ends = connect_ends(as_user(kNobody), secretive);
  if (!ends.ran()) return;
  check_used(ends.server, "shm");
  check_used(ends.client, "shm");
  check_limited(ends.server, "shm", EXS_REASON_NO_PTRACE);
}

BOOST_AUTO_TEST_CASE(no_ptrace_by_wish) {
  End end;
  end.environment = {{"EXS_SHM_PROCESS_VM", "0"}};
  const Ends ends = connect_ends(end, {});
  check_used(ends.server, "shm");
  check_used(ends.client, "shm");
  check_limited(ends.server, "shm", EXS_REASON_NO_PTRACE);
}

BOOST_AUTO_TEST_CASE(other_pid_namespace) {
  End inside;
  inside.in_own_pid_namespace = true;
  const Ends server_is = connect_ends(inside, {});
  if (!server_is.ran()) return;
  check_used(server_is.server, "shm");
  check_used(server_is.client, "shm");
  check_limited(server_is.server, "shm", EXS_REASON_OTHER_PIDNS);
  const Ends both = connect_ends(inside, inside);
  for (const Told& end : {both.server, both.client}) {
    check_used(end, "shm");
    check_limited(end, "shm", EXS_REASON_OTHER_PIDNS);
  }
}

// Somebody between the ends speaks for the client, and does not know what it promised.
BOOST_AUTO_TEST_CASE(no_proof) {
  ManInTheMiddle middle([](std::vector<std::byte>& private_data) {
    shm::Invitation invitation = invitation_in(private_data);
    invitation.token[3] ^= std::byte{1};
    put_invitation(private_data, invitation);
  });
  const Ends ends = connect_ends({}, {}, middle.detour());
  check_used(ends.server, "iwarp");
  check_used(ends.client, "iwarp");
  check_refused(ends.server, "shm", EXS_REASON_NO_PROOF, false);
  check_refused(ends.client, "shm", EXS_REASON_NO_PROOF, true);
}

// The server connects to a socket that accepts nobody.
BOOST_AUTO_TEST_CASE(timed_out) {
  const UniqueFd silent(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  shm::RandomId socket_id{};
  std::fill(socket_id.begin(), socket_id.end(), static_cast<std::byte>(::getpid()));
  const shm::AbstractAddress address(socket_id);
  BOOST_REQUIRE(::bind(silent.get(), address.get(), address.bytes) == 0);
  BOOST_REQUIRE(::listen(silent.get(), 8) == 0);
  ManInTheMiddle middle([&](std::vector<std::byte>& private_data) {
    shm::Invitation invitation = invitation_in(private_data);
    invitation.socket_id = socket_id;
    put_invitation(private_data, invitation);
  });
  const Ends ends = connect_ends({}, {}, middle.detour());
  check_used(ends.server, "iwarp");
  check_used(ends.client, "iwarp");
  check_refused(ends.server, "shm", EXS_REASON_TIMED_OUT, false);
  check_refused(ends.client, "shm", EXS_REASON_TIMED_OUT, true);
}

BOOST_AUTO_TEST_CASE(nobody_at_the_socket) {
  ManInTheMiddle middle([](std::vector<std::byte>& private_data) {
    shm::Invitation invitation = invitation_in(private_data);
    invitation.socket_id[5] ^= std::byte{0x40};
    put_invitation(private_data, invitation);
  });
  const Ends ends = connect_ends({}, {}, middle.detour());
  check_used(ends.client, "iwarp");
  check_refused(ends.server, "shm", EXS_REASON_NO_UNIX_SOCKET, false);
  check_refused(ends.client, "shm", EXS_REASON_NO_UNIX_SOCKET, true);
}

BOOST_AUTO_TEST_CASE(failed_by_an_invitation_of_another_version) {
  ManInTheMiddle middle(
      [](std::vector<std::byte>& private_data) { private_data[kWordsOffset] = std::byte{99}; });
  const Ends ends = connect_ends({}, {}, middle.detour());
  check_used(ends.server, "iwarp");
  check_used(ends.client, "iwarp");
  check_refused(ends.server, "shm", EXS_REASON_FAILED, false);
  check_refused(ends.client, "shm", EXS_REASON_FAILED, true);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
