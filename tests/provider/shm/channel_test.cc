// What a channel does once it is there: numbers, doorbells, regions, and its end.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/channel.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "tests/provider/shm/halves.h"
#include "tests/provider/shm/raw_end.h"

using namespace exs;
using namespace exs::shm;
using namespace exs::shm::test;

namespace channel_test {

// Two channels that are each other's peers, without a directory.
struct Fixture {
  Fixture() : Fixture(true) {}
  explicit Fixture(bool eventfds) {
    int ends[2];
    require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
    UniqueFd memfds[2];
    Channel::Parts parts[2];
    for (std::size_t i = 0; i < 2; ++i) {
      parts[i].socket = shm::PeerSocket(UniqueFd(ends[i]));
      parts[i].doorbell = make_doorbell();
      parts[i].segment = *Mapping::create(kSegmentBytes, memfds[i]);
      parts[i].peer_pid = ::getpid();
    }
    for (std::size_t i = 0; i < 2; ++i) {
      parts[i].peer_segment = *Mapping::of_peer(memfds[1 - i].get(), kSegmentBytes);
      if (eventfds)
        parts[i].peer_doorbell = UniqueFd(::fcntl(parts[1 - i].doorbell.get(), F_DUPFD_CLOEXEC, 0));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      channels[i] = std::make_unique<Channel>(*pollers[i], std::move(parts[i]));
      require(channels[i]->start().ok(), "start");
    }
  }

  // Whether anything had happened.
  bool look(std::size_t which) {
    std::array<epoll_event, 16> room;
    const auto events = pollers[which]->look(room);
    for (const epoll_event& event : events) static_cast<Pollable*>(event.data.ptr)->ready(event.events);
    return !events.empty();
  }
  bool write(std::size_t which) { return channels[which]->out().write({.link = 1}, {}); }

  std::unique_ptr<Poller> pollers[2] = {open(), open()};
  std::unique_ptr<Channel> channels[2];
  Channel& here() { return *channels[0]; }
  Channel& there() { return *channels[1]; }

 private:
  static std::unique_ptr<Poller> open() { return std::make_unique<Poller>(std::move(*Poller::open())); }
};

struct FixtureWithoutEventfds : Fixture {
  FixtureWithoutEventfds() : Fixture(false) {}
};

// One channel whose peer is the test.
struct RawFixture {
  RawFixture() {
    int ends[2];
    require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
    UniqueFd memfd;
    Channel::Parts parts;
    parts.socket = shm::PeerSocket(UniqueFd(ends[0]));
    peer = RawEnd(UniqueFd(ends[1]));
    parts.doorbell = make_doorbell();
    parts.segment = *Mapping::create(kSegmentBytes, memfd);
    parts.peer_segment = *Mapping::create(kSegmentBytes, memfd);
    channel = std::make_unique<Channel>(poller, std::move(parts));
    require(channel->start().ok(), "start");
  }
  void look() {
    std::array<epoll_event, 16> room;
    for (const epoll_event& event : poller.look(room)) {
      static_cast<Pollable*>(event.data.ptr)->ready(event.events);
    }
  }
  bool announce(std::uint32_t key, std::size_t bytes, int seals = kGoodSeals) {
    const UniqueFd memfd = make_memfd(bytes, seals);
    const int descriptor = memfd.get();
    return peer.send({.kind = PacketKind::kShareRegion, .key = key, .length_bytes = bytes}, {&descriptor, 1});
  }

  Poller poller = std::move(*Poller::open());
  RawEnd peer{UniqueFd()};
  std::unique_ptr<Channel> channel;
};

ShmLink& some_link() {
  static int place = 0;
  return reinterpret_cast<ShmLink&>(place);  // its address alone matters
}

}  // namespace channel_test

BOOST_AUTO_TEST_SUITE(channel_test)

BOOST_FIXTURE_TEST_SUITE(numbers, Fixture)

BOOST_AUTO_TEST_CASE(a_number_is_reserved_then_a_links_then_nobodys) {
  const std::uint32_t number = *here().reserve_link();
  BOOST_TEST(number != 0U);
  BOOST_TEST(here().links().is_reserved(number));
  BOOST_TEST(here().links().find(number) == nullptr);
  here().links().attach(number, some_link());
  BOOST_TEST(!here().links().is_reserved(number));
  BOOST_TEST(here().links().find(number) == &some_link());
  here().links().remove(number);
  BOOST_TEST(here().links().find(number) == nullptr);
  BOOST_TEST(!here().links().is_reserved(number));
  BOOST_TEST(here().links().count() == 0U);
}

BOOST_AUTO_TEST_CASE(a_place_that_is_used_again_has_another_number) {
  std::set<std::uint32_t> given;
  for (int i = 0; i < 4000; ++i) {
    const std::uint32_t number = *here().reserve_link();
    BOOST_TEST(given.insert(number).second);
    here().links().remove(number);
  }
}

BOOST_AUTO_TEST_CASE(no_number_finds_what_is_not_there) {
  here().links().attach(*here().reserve_link(), some_link());
  std::size_t found = 0;
  for (std::uint64_t number = 0; number <= UINT32_MAX; number += 4093) {
    found += here().links().find(static_cast<std::uint32_t>(number)) != nullptr ? 1U : 0U;
  }
  BOOST_TEST(found <= 1U);
  BOOST_TEST(here().links().find(0) == nullptr);
  BOOST_TEST(!here().links().is_reserved(0));
}

BOOST_AUTO_TEST_CASE(links_are_visited_and_may_go_meanwhile) {
  for (int i = 0; i < 3; ++i) here().links().attach(*here().reserve_link(), some_link());
  const std::uint32_t reserved = *here().reserve_link();
  int requests = 0;
  here().links().for_each([&](ShmLink&) {
    if (++requests != 1) return;
    for (std::uint32_t index = 1; index <= 2; ++index) here().links().remove(1U << 20 | index);
  });
  BOOST_TEST(requests == 2);
  BOOST_TEST(here().links().is_reserved(reserved));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(doorbell)

template <typename Ends>
void ring_only_who_sleeps(Ends& ends) {
  BOOST_TEST(ends.here().peer_is_awake());
  ends.here().wake_peer_if_asleep();
  BOOST_TEST(!ends.look(1));
  ends.there().arm();
  BOOST_TEST(!ends.here().peer_is_awake());
  BOOST_TEST(ends.write(0));
  ends.here().wake_peer_if_asleep();
  BOOST_TEST(ends.look(1));
  // Once a sleep, however much is written.
  ends.here().wake_peer_if_asleep();
  BOOST_TEST(!ends.look(1));
  for (int i = 0; i < 1000; ++i) {
    ends.there().arm();
    ends.here().wake_peer_if_asleep();
    BOOST_TEST(ends.look(1));
    BOOST_TEST(!ends.look(1));
  }
  ends.there().arm();
  ends.there().disarm();
  ends.here().wake_peer_if_asleep();
  BOOST_TEST(!ends.look(1));
  BOOST_TEST(ends.here().peer_is_awake());
}

BOOST_FIXTURE_TEST_CASE(who_sleeps_is_rung_by_an_eventfd, Fixture) {
  ring_only_who_sleeps(*this);
}

BOOST_FIXTURE_TEST_CASE(who_sleeps_is_rung_by_a_note, FixtureWithoutEventfds) {
  ring_only_who_sleeps(*this);
}

BOOST_FIXTURE_TEST_CASE(ringing_never_blocks_and_never_fails, FixtureWithoutEventfds) {
  for (int i = 0; i < 100'000; ++i) here().wake_peer();
  BOOST_TEST(!here().is_over());
  for (int i = 0; i < 1000 && look(1); ++i) {
  }
  BOOST_TEST(!look(1));
  BOOST_TEST(!there().is_over());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(regions, Fixture)

BOOST_AUTO_TEST_CASE(what_is_announced_is_mapped_and_is_the_same_memory) {
  UniqueFd memfd;
  const Mapping memory = *Mapping::create(8192, memfd);
  BOOST_TEST(here().announce(MemoryKey{5}, memfd.get(), 8192).ok());
  // Nobody has looked at the socket yet.
  const PeerRegions::View* region = there().region(5);
  BOOST_REQUIRE(region != nullptr);
  BOOST_TEST(region->length_bytes == 8192U);
  memory.bytes()[8191] = std::byte{77};
  BOOST_TEST((region->start[8191] == std::byte{77}));
  region->start[0] = std::byte{78};
  BOOST_TEST((memory.bytes()[0] == std::byte{78}));
}

BOOST_AUTO_TEST_CASE(a_region_is_announced_once_and_forgotten_when_retracted) {
  UniqueFd memfd;
  const Mapping memory = *Mapping::create(4096, memfd);
  for (int i = 0; i < 1000; ++i) BOOST_TEST(here().announce(MemoryKey{5}, memfd.get(), 4096).ok());
  const std::size_t before = open_descriptors();
  BOOST_TEST(there().region(5) != nullptr);
  BOOST_TEST(open_descriptors() == before);
  here().retract(MemoryKey{5});
  look(1);
  BOOST_TEST(there().region(5) == nullptr);
  BOOST_TEST(here().announce(MemoryKey{5}, memfd.get(), 4096).ok());
  BOOST_TEST(there().region(5) != nullptr);
}

BOOST_AUTO_TEST_CASE(what_is_not_known_is_not_there) {
  BOOST_TEST(there().region(5) == nullptr);
  here().retract(MemoryKey{5});
  look(1);
  BOOST_TEST(!there().is_over());
}

BOOST_AUTO_TEST_CASE(an_end_takes_no_more_regions_than_the_bound) {
  UniqueFd memfd;
  const Mapping memory = *Mapping::create(4096, memfd);
  std::uint32_t key = 1;
  for (; here().announce(MemoryKey{key}, memfd.get(), 4096).ok(); ++key) look(1);
  BOOST_TEST(key > 1000U);
  BOOST_TEST(there().region(key - 1) != nullptr);
  here().retract(MemoryKey{1});
  BOOST_TEST(here().announce(MemoryKey{key}, memfd.get(), 4096).ok());
  BOOST_TEST(there().region(key) != nullptr);
  BOOST_TEST(!there().is_over());
}

BOOST_AUTO_TEST_CASE(a_peer_that_does_not_read_is_not_waited_for) {
  UniqueFd memfd;
  const Mapping memory = *Mapping::create(4096, memfd);
  Status status;
  std::uint32_t key = 0;
  while (status.ok()) status = here().announce(MemoryKey{++key}, memfd.get(), 4096);
  BOOST_TEST((status == Status(EAGAIN) || status == Status(ETOOMANYREFS)));
  here().retract(MemoryKey{1});  // waits in line
  BOOST_TEST((here().announce(MemoryKey{key}, memfd.get(), 4096) == Status(EAGAIN)));
  while (look(1)) look(0);
  BOOST_TEST(there().region(1) == nullptr);
  BOOST_TEST(there().region(2) != nullptr);
  BOOST_TEST(here().announce(MemoryKey{key}, memfd.get(), 4096).ok());
  BOOST_TEST(there().region(key) != nullptr);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(hostile, RawFixture)

BOOST_AUTO_TEST_CASE(a_region_that_may_shrink) {
  BOOST_TEST(announce(1, 4096, F_SEAL_GROW));
  BOOST_TEST(channel->region(1) == nullptr);
  BOOST_TEST((channel->status() == Status(EPROTO)));
}

BOOST_AUTO_TEST_CASE(a_region_twice) {
  BOOST_TEST(announce(1, 4096));
  BOOST_TEST(channel->region(1) != nullptr);
  BOOST_TEST(announce(1, 4096));
  look();
  BOOST_TEST((channel->status() == Status(EPROTO)));
}

BOOST_AUTO_TEST_CASE(a_region_of_another_length_than_was_said) {
  const UniqueFd memfd = make_memfd(4096, kGoodSeals);
  const int descriptor = memfd.get();
  BOOST_TEST(peer.send({.kind = PacketKind::kShareRegion, .key = 1, .length_bytes = 8192}, {&descriptor, 1}));
  look();
  BOOST_TEST((channel->status() == Status(EPROTO)));
}

// Sparse, so it costs the peer nothing.
BOOST_AUTO_TEST_CASE(regions_that_would_use_up_the_address_space) {
  constexpr std::size_t kBytes = std::size_t{1} << 39;
  for (std::uint32_t key = 1; key <= 300; ++key) {
    BOOST_TEST(announce(key, kBytes));
    look();
  }
  BOOST_TEST(channel->region(2) != nullptr);
  BOOST_TEST(channel->region(3) == nullptr);
  BOOST_TEST(!channel->is_over());
  // What is given back is room for others.
  BOOST_TEST(peer.send({.kind = PacketKind::kRetractRegion, .key = 1}));
  BOOST_TEST(announce(1000, kBytes));
  BOOST_TEST(channel->region(1000) != nullptr);
}

BOOST_AUTO_TEST_CASE(descriptors_where_none_belong) {
  const std::size_t before = open_descriptors();
  const UniqueFd doorbell = make_doorbell();
  const int descriptor = doorbell.get();
  BOOST_TEST(peer.send({.kind = PacketKind::kWakeUp}, {&descriptor, 1}));
  look();
  BOOST_TEST((channel->status() == Status(EPROTO)));
  BOOST_TEST(open_descriptors() < before);
}

BOOST_AUTO_TEST_CASE(more_notes_than_anybody_takes) {
  std::size_t said = 0;
  for (int i = 0; i < 100; ++i) {
    while (peer.send({.kind = PacketKind::kJoin, .number = 1})) ++said;
    look();
  }
  BOOST_TEST(!channel->is_over());
  BOOST_TEST(said < 2000U);
  ControlPacket packet;
  std::size_t taken = 0;
  for (int i = 0; i < 100; ++i) {
    while (channel->take_packet(packet)) ++taken;
    look();
  }
  BOOST_TEST(taken == said);
}

BOOST_AUTO_TEST_CASE(a_peer_that_asks_and_never_reads) {
  for (int i = 0; i < 100'000 && !channel->is_over(); ++i) channel->send({.kind = PacketKind::kJoinRefused});
  BOOST_TEST((channel->status() == Status(EPROTO)));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(ending, Fixture)

BOOST_AUTO_TEST_CASE(what_was_written_before_the_end_is_still_read) {
  BOOST_TEST(write(0));
  channels[0].reset();
  BOOST_TEST(look(1));
  BOOST_TEST((there().status() == Status(ECONNRESET)));
  RecordHeader header;
  BOOST_TEST(there().in().peek(header));
  BOOST_TEST(header.link == 1U);
}

BOOST_AUTO_TEST_CASE(an_end_ends_once_and_for_its_first_reason) {
  here().end(Status(EPROTO));
  here().end(Status(ECONNRESET));
  BOOST_TEST((here().status() == Status(EPROTO)));
  BOOST_TEST(!look(0));
}

BOOST_AUTO_TEST_CASE(nothing_can_be_done_after_the_end) {
  here().end(Status(EPROTO));
  BOOST_TEST((here().reserve_link().error() == Status(ECONNRESET)));
  BOOST_TEST((here().announce(MemoryKey{1}, 0, 4096) == Status(ECONNRESET)));
  here().retract(MemoryKey{1});
  here().wake_peer();
  here().send({});
  BOOST_TEST(here().region(1) == nullptr);
  BOOST_TEST(!here().reads_memory());
  BOOST_TEST(!here().peer_process_lives());
}

BOOST_AUTO_TEST_CASE(a_peer_whose_socket_has_ended_does_not_live) {
  BOOST_TEST(there().peer_process_lives());
  here().end(Status(EPROTO));
  BOOST_TEST(!there().peer_process_lives());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
