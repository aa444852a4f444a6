// exs_sendfile: ranges of files and memory, mixed.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace sendfile_test {

constexpr std::size_t kFileBytes = 300'000;

// A file in memory.
class File {
 public:
  File() : descriptor_(::memfd_create("sendfile_test", MFD_CLOEXEC)), bytes_(kFileBytes) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i * 11 >> 4);
    BOOST_REQUIRE_EQUAL(::write(descriptor_, bytes_.data(), bytes_.size()), static_cast<ssize_t>(kFileBytes));
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const std::byte* at(std::size_t offset) const { return bytes_.data() + offset; }

 private:
  int descriptor_;
  std::vector<std::byte> bytes_;
};

exs_xferelem_t range(int file, std::uint64_t offset, std::uint64_t length) {
  exs_xferelem_t element{};
  element.type = EXS_FDVEC;
  element.u.fdv = {file, 0, offset, length};
  return element;
}
exs_xferelem_t memory_of(void* address, std::size_t length, exs_mhandle_t region) {
  exs_xferelem_t element{};
  element.type = EXS_IOVEC;
  element.u.iov = {address, length, region, 0};
  return element;
}

struct Fixture {
  InitializedLibrary library;
  Queue queue{64};
  Pair pair{queue};
  File file;
  Memory header{4096};
  Memory sink{1 << 20};

  int send(exs_xferfile_t& what, int flags = 0) {
    return exs_sendfile(pair.left, &what, flags, queue.handle(), &what);
  }
  std::string refusal(exs_xferelem_t element) {
    exs_xferfile_t what{&element, 1, 0};
    return outcome(send(what));
  }
  void expect(std::vector<exs_xferelem_t> elements, const std::vector<std::byte>& bytes) {
    exs_xferfile_t what{elements.data(), static_cast<int>(elements.size()), 0};
    std::memset(sink.at(), 0, sink.size_bytes());
    BOOST_REQUIRE_EQUAL(
        exs_recv(pair.right, sink.at(), sink.size_bytes(), 0, queue.handle(), nullptr, sink.handle()), 0);
    BOOST_REQUIRE_EQUAL(send(what), 0);
    const exs_event_t sent = queue.next_of(pair.left, EXS_EVT_SENDFILE);
    BOOST_TEST(sent.exs_evt_errno == 0);
    BOOST_TEST(sent.exs_evt_ahandle == &what);
    BOOST_TEST(sent.exs_evt_union.exs_evt_xferfile.exs_evt_xferfile == &what);
    BOOST_TEST(sent.exs_evt_union.exs_evt_xferfile.exs_evt_length == bytes.size());
    const exs_event_t received = queue.next_of(pair.right, EXS_EVT_RECV);
    BOOST_TEST(received.exs_evt_union.exs_evt_xfer.exs_evt_length == bytes.size());
    BOOST_TEST(std::equal(bytes.begin(), bytes.end(), sink.at()));
  }
  std::vector<std::byte> part(std::size_t offset, std::size_t length) {
    return {file.at(offset), file.at(offset) + length};
  }
};

std::vector<std::byte> operator+(std::vector<std::byte> left, const std::vector<std::byte>& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

}  // namespace sendfile_test

BOOST_FIXTURE_TEST_SUITE(sendfile_test, Fixture)

BOOST_AUTO_TEST_CASE(a_range_a_whole_file_and_its_end_arrive) {
  const int fd = file.descriptor();
  expect({range(fd, 0, 100)}, part(0, 100));
  expect({range(fd, 5, 200'000)}, part(5, 200'000));
  expect({range(fd, 0, 0)}, part(0, kFileBytes));
  expect({range(fd, kFileBytes - 7, 0)}, part(kFileBytes - 7, 7));
  expect({range(fd, kFileBytes, 0)}, {});
  expect({}, {});
  BOOST_TEST(::lseek(fd, 0, SEEK_CUR) == static_cast<off_t>(kFileBytes));  // its position has not changed
}

BOOST_AUTO_TEST_CASE(files_and_memory_mix) {
  header.fill(9);
  std::vector<std::byte> ordinary(2000, std::byte{0x5a});
  const std::vector<std::byte> start(header.at(), header.at() + 64);
  const int fd = file.descriptor();
  expect({memory_of(header.at(), 64, header.handle()), range(fd, 1000, 50)}, start + part(1000, 50));
  expect({memory_of(header.at(), 64, header.handle()), range(fd, 0, 0), range(fd, 17, 5000),
          memory_of(ordinary.data(), ordinary.size(), EXS_MHANDLE_UNREGISTERED)},
         start + part(0, kFileBytes) + part(17, 5000) + ordinary);
}

BOOST_AUTO_TEST_CASE(what_is_sent_is_the_file_as_it_was_at_the_post) {
  exs_xferelem_t element = range(file.descriptor(), 0, 100'000);
  exs_xferfile_t what{&element, 1, 0};
  BOOST_REQUIRE_EQUAL(send(what), 0);
  BOOST_REQUIRE_EQUAL(::ftruncate(file.descriptor(), 0), 0);
  BOOST_REQUIRE_EQUAL(
      exs_recv(pair.right, sink.at(), sink.size_bytes(), 0, queue.handle(), nullptr, sink.handle()), 0);
  const exs_event_t sent = queue.next_of(pair.left, EXS_EVT_SENDFILE);
  BOOST_TEST((sent.exs_evt_flags & EXS_EVF_COPIED) != 0U);
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
  BOOST_TEST(std::memcmp(sink.at(), file.at(0), 100'000) == 0);
}

BOOST_AUTO_TEST_CASE(everything_is_checked_before_anything_changes) {
  const int fd = file.descriptor();
  BOOST_TEST(outcome(exs_sendfile(pair.left, nullptr, 0, queue.handle(), nullptr)) == "EFAULT");
  exs_xferelem_t good = range(fd, 0, 10);
  const auto refused = [&](exs_xferfile_t what, int flags = 0) { return outcome(send(what, flags)); };
  BOOST_TEST(refused({nullptr, 1, 0}) == "EFAULT");
  BOOST_TEST(refused({&good, -1, 0}) == "EINVAL");
  BOOST_TEST(refused({&good, 1, 1}) == "EINVAL");
  BOOST_TEST(refused({&good, EXS_IOV_MAX + 1, 0}) == "EMSGSIZE");
  BOOST_TEST(refused({&good, 1, 0}, EXS_PERSISTENT) == "EOPNOTSUPP");
  BOOST_TEST(refusal(range(-1, 0, 10)) == "EBADF");
  BOOST_TEST(refusal(range(1'000'000, 0, 10)) == "EBADF");
  BOOST_TEST(refusal(range(fd, 0, kFileBytes + 1)) == "EINVAL");
  BOOST_TEST(refusal(range(fd, kFileBytes + 1, 0)) == "EINVAL");
  BOOST_TEST(refusal(range(fd, 1, UINT64_MAX)) == "EINVAL");
  BOOST_TEST(refusal(range(fd, UINT64_MAX, 1)) == "EINVAL");
  exs_xferelem_t odd = good;
  odd.type = 3;
  BOOST_TEST(refusal(odd) == "EINVAL");
  odd = good;
  odd.reserved = 1;
  BOOST_TEST(refusal(odd) == "EINVAL");
  odd = good;
  odd.u.fdv.fdv_reserved = 1;
  BOOST_TEST(refusal(odd) == "EINVAL");
  BOOST_TEST(refusal(memory_of(header.at(), 5000, header.handle())) == "EFAULT");
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
}

BOOST_AUTO_TEST_CASE(what_pread_says_is_told) {
  int pipe[2];
  BOOST_REQUIRE_EQUAL(::pipe(pipe), 0);
  BOOST_TEST(refusal(range(pipe[0], 0, 10)) == "ESPIPE");
  BOOST_TEST(refusal(range(pipe[0], 0, 0)) == "EINVAL");
  const int folder = ::open(".", O_RDONLY | O_DIRECTORY);
  BOOST_TEST(refusal(range(folder, 0, 10)) == "EISDIR");
  const int write_only = ::open("/dev/null", O_WRONLY);
  BOOST_TEST(refusal(range(write_only, 0, 10)) == "EBADF");
  for (const int descriptor : {pipe[0], pipe[1], folder, write_only}) ::close(descriptor);
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
}

BOOST_AUTO_TEST_CASE(a_range_larger_than_memory_is_enomem) {
  const int huge = ::memfd_create("huge", MFD_CLOEXEC);
  BOOST_REQUIRE_EQUAL(::ftruncate(huge, off_t{1} << 61), 0);
  BOOST_TEST(refusal(range(huge, 0, 0)) == "ENOMEM");
  ::close(huge);
}

BOOST_AUTO_TEST_CASE(a_post_without_a_place_reads_no_file) {
  Queue small(1);
  BOOST_REQUIRE_EQUAL(exs_qpost(small.handle(), nullptr, nullptr), 0);
  exs_xferelem_t element = range(file.descriptor(), 0, 100);
  exs_xferfile_t what{&element, 1, 0};
  BOOST_TEST(outcome(exs_sendfile(pair.left, &what, 0, small.handle(), nullptr)) == "EAGAIN");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
