// Services in C++: messages without replies, what becomes of them, and questions to a service.
// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>

#include <array>
#include <set>
#include <stdexcept>

#include "tests/service/hpp_world.h"

using namespace std::chrono_literals;

namespace exs::cpp {
namespace hpp_messages_test {

struct Fixture : ServiceWorld {
  ServicePeer peer{left, key.id()};
};

// Takes so many messages, and keeps their first items.
Task<> take_texts(const Service& service, std::size_t count, std::vector<std::string>& texts) {
  while (texts.size() < count) {
    const ServiceMessage message = co_await service.next();
    BOOST_TEST_REQUIRE(message.error == std::error_code());
    BOOST_TEST(!message.is_request());
    texts.emplace_back(message.text(0));
  }
}
Task<> send_numbers(const ServicePeer& peer, int count) {
  for (int i = 0; i < count; ++i) (co_await peer.send(std::to_string(i))).value();
}
std::vector<std::string> numbers(int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back(std::to_string(i));
  return all;
}

}  // namespace hpp_messages_test

BOOST_FIXTURE_TEST_SUITE(hpp_messages_test, Fixture)

// ---------------------------------------------------------------- messages

BOOST_AUTO_TEST_CASE(messages_arrive_with_all_their_items) {
  const Service service(right, key);
  loop.block_on([](Fixture& world, const Service& at) -> Task<> {
    BOOST_TEST(co_await at.opened());
    BOOST_TEST(at.is_open());
    const std::uint64_t number = 0x1122334455667788;
    const std::string text = "text";
    const std::vector<std::string> texts = {"a", "b"};
    const std::vector<std::byte> bytes(3, std::byte{7});
    (co_await world.peer.send({"literal", text, bytes, std::as_bytes(std::span(&number, 1))})).value();
    (co_await world.peer.send({})).value();
    (co_await world.peer.send(texts)).value();
    const ServiceMessage first = co_await at.next();
    BOOST_TEST(first.items_count() == 4U);
    BOOST_TEST(first.text(0) == "literal");
    BOOST_TEST(first.text(1) == "text");
    BOOST_TEST(first.item(2).size() == 3U);
    BOOST_TEST((first.item(2)[2] == std::byte{7}));
    BOOST_TEST(first.item(3).size() == sizeof number);
    BOOST_TEST(first.item(4).empty());
    BOOST_TEST(first.longs_count() == 0U);
    BOOST_TEST(!first.from().has_value());
    const ServiceMessage second = co_await at.next();
    BOOST_TEST(static_cast<bool>(second));
    BOOST_TEST(second.items_count() == 0U);
    const ServiceMessage third = (co_await at.next()).value();
    BOOST_TEST(third.text(1) == "b");
    BOOST_TEST(name_of(co_await third.reply("no request")) == "EINVAL");
  }(*this, service));
}

BOOST_AUTO_TEST_CASE(a_sender_may_be_a_service) {
  const Service service(right, key);
  const ServiceKey own;
  const Service sender(left, own);
  loop.block_on([](Fixture& world, const Service& at, const Service& from, const ServiceId& id) -> Task<> {
    const ServicePeer peer_of_sender(world.left, world.key.id(), {.from = &from});
    (co_await peer_of_sender.send("x")).value();
    BOOST_TEST((*(co_await at.next()).from() == id));
  }(*this, service, sender, own.id()));
}

BOOST_AUTO_TEST_CASE(a_message_that_is_too_long_is_refused) {
  loop.block_on([](const ServicePeer& to) -> Task<> {
    BOOST_TEST(name_of(co_await to.send(std::string(EXS_SVC_SHORT_MAX + 1, 'x'))) == "EMSGSIZE");
    BOOST_TEST(name_of(co_await to.send(std::vector<std::string>(EXS_SVC_ITEMS_MAX + 1, "x"))) == "EMSGSIZE");
    BOOST_TEST(name_of(co_await to.send_long("no long item", {})) == "EINVAL");
  }(peer));
}

BOOST_AUTO_TEST_CASE(long_items_belong_to_the_program_again_when_they_are_sent) {
  const Service service(right, key);
  const Buffer window(1 << 20);
  service.add_window(window.bytes(), window.region());
  std::string first = pattern_of(1 << 20, 1);
  const std::string second = pattern_of(70'000, 2);
  const auto sender = [](const ServicePeer& to, std::string& one, const std::string& two) -> Task<> {
    const std::array<exs_iovec_t, 2> longs = {piece_of(bytes_of(one)), piece_of(bytes_of(two))};
    (co_await to.send_long("both", longs)).value();
    one.assign(one.size(), 'x');
  };
  const auto receiver = [](const Service& at, const std::string& one, const std::string& two,
                           const Buffer& into) -> Task<> {
    const ServiceMessage message = co_await at.next();
    BOOST_TEST(message.text(0) == "both");
    BOOST_TEST_REQUIRE(message.longs_count() == 2U);
    BOOST_TEST((text_of(message.long_item(0)) == one));
    BOOST_TEST((text_of(message.long_item(1)) == two));
    BOOST_TEST(message.long_item(0).data() == into.bytes().data());
    BOOST_TEST(message.long_item(2).empty());
  };
  const std::string copy = first;
  loop.spawn(sender(peer, first, second));
  loop.spawn(receiver(service, copy, second, window));
  loop.run();
  BOOST_TEST(first[0] == 'x');
}

// ---------------------------------------------------------------- room

BOOST_AUTO_TEST_CASE(more_messages_than_may_be_pending_wait_and_arrive_in_order) {
  constexpr int kCount = 250;  // fewer than the mailbox has for one sender
  loop.spawn(send_numbers(peer, kCount));
  BOOST_TEST(loop.tasks() == 1U);  // nobody is the service yet
  const Service service(right, key);
  std::vector<std::string> texts;
  loop.spawn(take_texts(service, kCount, texts));
  loop.run();
  BOOST_TEST((texts == numbers(kCount)));
}

BOOST_AUTO_TEST_CASE(those_that_wait_for_room_go_in_their_order) {
  constexpr int kCount = 250;
  const auto send_one = [](const ServicePeer& to, int number) -> Task<> {
    (co_await to.send(std::to_string(number))).value();
  };
  for (int i = 0; i < kCount; ++i) loop.spawn(send_one(peer, i));
  BOOST_TEST(loop.tasks() == static_cast<std::size_t>(kCount) - 64);
  const Service service(right, key);
  std::vector<std::string> texts;
  loop.spawn(take_texts(service, kCount, texts));
  loop.run();
  BOOST_TEST((texts == numbers(kCount)));
}

BOOST_AUTO_TEST_CASE(who_waits_for_room_has_a_limit) {
  loop.block_on([](const ServicePeer& to) -> Task<> {
    for (int i = 0; i < 64; ++i) (co_await to.send("x")).value();
    BOOST_TEST(name_of(co_await with_timeout(1ms, to.send("one more"))) == "ETIMEDOUT");
    BOOST_TEST(name_of(co_await with_timeout(1ms, to.request("one more"))) == "ETIMEDOUT");
  }(peer));
}

BOOST_AUTO_TEST_CASE(a_peer_that_ends_leaves_others_who_wait_for_room_waiting_for_theirs) {
  auto other = std::make_unique<ServicePeer>(left, key.id());
  loop.spawn(send_numbers(peer, 70));
  Ends ends;
  for (int i = 0; i < 70; ++i) loop.spawn(ends.note(other->send("x")));
  BOOST_TEST(ends.names.size() == 64U);
  other.reset();
  BOOST_TEST(ends.names.size() == 70U);
  BOOST_TEST(ends.names.back() == "ECANCELED");
  const Service service(right, key);
  std::vector<std::string> texts;
  loop.spawn(take_texts(service, 70, texts));
  loop.run();
  BOOST_TEST((texts == numbers(70)));
}

// ---------------------------------------------------------------- who takes them

BOOST_AUTO_TEST_CASE(each_message_goes_to_one_of_those_who_wait) {
  const Service service(right, key);
  std::multiset<std::string> texts;
  const auto take_some = [](const Service& at, std::multiset<std::string>& all) -> Task<> {
    for (int i = 0; i < 10; ++i) all.emplace((co_await at.next()).value().text(0));
  };
  for (int i = 0; i < 10; ++i) loop.spawn(take_some(service, texts));
  loop.spawn(send_numbers(peer, 100));
  loop.run();
  const std::vector<std::string> sent = numbers(100);
  BOOST_TEST((texts == std::multiset<std::string>(sent.begin(), sent.end())));
}

BOOST_AUTO_TEST_CASE(who_waits_for_a_message_has_a_limit) {
  const Service service(right, key);
  loop.block_on([](Fixture& world, const Service& at) -> Task<> {
    BOOST_TEST(name_of(co_await with_timeout(1ms, at.next())) == "ETIMEDOUT");
    (co_await world.peer.send("for the next")).value();
    BOOST_TEST((co_await with_timeout(60s, at.next())).text(0) == "for the next");
  }(*this, service));
}

BOOST_AUTO_TEST_CASE(a_coroutine_that_has_gone_takes_no_message) {
  const Service service(right, key);
  await_and_destroy(service.next());
  loop.block_on([](Fixture& world, const Service& at) -> Task<> {
    (co_await world.peer.send("x")).value();
    BOOST_TEST((co_await at.next()).text(0) == "x");
  }(*this, service));
}

BOOST_AUTO_TEST_CASE(a_message_outlives_its_service_and_its_node) {
  ServiceMessage kept;
  {
    ServiceNode third(loop, patient());
    const Service service(third, key);
    kept = loop.block_on([](Fixture& world, const Service& at) -> Task<ServiceMessage> {
      (co_await world.peer.send("kept")).value();
      co_return co_await at.next();
    }(*this, service));
  }
  BOOST_TEST(kept.text(0) == "kept");
}

// ---------------------------------------------------------------- what becomes of them

BOOST_AUTO_TEST_CASE(messages_that_are_lost_are_a_notice) {
  const ServiceNode third(loop, impatient());
  const ServicePeer nobody(third, key.id());
  std::vector<ServiceNotice> notices;
  nobody.on_notice([&](const ServiceNotice& notice) { notices.push_back(notice); });
  loop.block_on([](const ServicePeer& to) -> Task<> {
    (co_await to.send("x")).value();
    (co_await to.send("y")).value();
    BOOST_TEST(name_of(co_await to.ping()) == "ENOENT");
    BOOST_TEST(name_of(co_await to.stats()) == "ENOENT");
    BOOST_TEST(name_of(co_await to.request("z")) == "ENOENT");
  }(nobody));
  BOOST_TEST_REQUIRE(notices.size() >= 1U);
  BOOST_TEST(notices[0].type == EXS_SVC_EVT_LOST);
  BOOST_TEST((notices[0].error == std::errc::no_such_file_or_directory));
  BOOST_TEST(notices[0].count == 2U);
}

BOOST_AUTO_TEST_CASE(messages_that_find_no_room_are_a_notice) {
  exs_svc_options_t options{};
  options.mailbox_max = 1;
  const Service service(right, key, options);
  std::uint64_t dropped = 0;
  peer.on_notice([&](const ServiceNotice& notice) {
    BOOST_TEST(notice.type == EXS_SVC_EVT_DROPPED);
    BOOST_TEST((notice.error == std::errc::no_buffer_space));
    dropped += notice.count;
  });
  loop.block_on([](Fixture& world, const Service& at) -> Task<> {
    for (int i = 0; i < 3; ++i) (co_await world.peer.send(std::to_string(i))).value();
    BOOST_TEST(static_cast<bool>(co_await world.peer.ping()));
    BOOST_TEST((co_await at.next()).text(0) == "0");
    const std::string long_text(10'000, 'x');
    const ServiceMessage held = (co_await both(world.peer.send("taken"), at.next())).second.value();
    BOOST_TEST(name_of(co_await world.peer.send_long({}, bytes_of(long_text))) == "ENOBUFS");
  }(*this, service));
  BOOST_TEST(dropped == 2U);
}

BOOST_AUTO_TEST_CASE(who_may_not_send_is_refused) {
  exs_svc_options_t options{};
  options.only_with_cap = 1;
  const Service service(right, key, options);
  int refusals = 0;
  peer.on_notice(
      [&](const ServiceNotice& notice) { refusals += notice.error == std::errc::permission_denied; });
  loop.block_on([](Fixture& world, const Service& at, const int& refused) -> Task<> {
    (co_await world.peer.send("x")).value();
    BOOST_TEST(name_of(co_await world.peer.ping()) == "EACCES");
    BOOST_TEST(refused == 1);
    const ServiceCapability made(world.key, EXS_SVC_SEND);
    const ServiceCapability capability(made.text());
    BOOST_TEST((capability.id() == world.key.id()));
    const ServicePeer allowed(world.left, world.key.id(), {.capability = &capability});
    (co_await allowed.send("y")).value();
    BOOST_TEST((co_await at.next()).text(0) == "y");
    BOOST_TEST(name_of(co_await allowed.ping()) == "EACCES");
    BOOST_TEST(name_of(co_await allowed.stats()) == "EACCES");
    BOOST_TEST(name_of(co_await allowed.request("z")) == "EACCES");
  }(*this, service, refusals));
  BOOST_CHECK_THROW(ServiceCapability("exs-cap:none"), std::system_error);
}

BOOST_AUTO_TEST_CASE(the_loop_throws_what_a_handler_throws) {
  const ServiceNode third(loop, impatient());
  const ServicePeer nobody(third, key.id());
  nobody.on_notice([](const ServiceNotice&) { throw std::runtime_error("handler"); });
  loop.block_on([](const ServicePeer& to) -> Task<> {
    (co_await to.send("x")).value();
    BOOST_TEST(name_of(co_await to.ping()) == "ENOENT");
  }(nobody));
  const auto run_on = [&] {
    for (;;) loop.poll();
  };
  BOOST_CHECK_THROW(run_on(), std::runtime_error);
}

// ---------------------------------------------------------------- questions

BOOST_AUTO_TEST_CASE(a_ping_is_answered_after_all_messages_before_it) {
  const Service service(right, key);
  loop.block_on([](Fixture& world) -> Task<> {
    for (int i = 0; i < 10; ++i) (co_await world.peer.send("x")).value();
    const ServicePong pong = co_await world.peer.ping();
    BOOST_TEST(pong.value().count() > 0);
    const ServiceStats stats = co_await world.peer.stats();
    BOOST_TEST(stats.value().messages == 10U);
    BOOST_TEST(stats.stats.mailbox == 10U);
    BOOST_TEST(stats.stats.flows == 1U);
  }(*this));
}

BOOST_AUTO_TEST_CASE(many_ask_at_once) {
  const Service service(right, key);
  Ends ends;
  for (int i = 0; i < 20; ++i) {
    loop.spawn(ends.note(peer.ping()));
    loop.spawn(ends.note(peer.stats()));
  }
  loop.run();
  BOOST_TEST(ends.begun == 40U);
  BOOST_TEST(ends.all_are("ok"));
}

BOOST_AUTO_TEST_CASE(a_question_that_is_given_up_is_not_in_the_way_of_the_next) {
  loop.block_on([](Fixture& world) -> Task<> {
    BOOST_TEST(name_of(co_await with_timeout(1ms, world.peer.ping())) == "ETIMEDOUT");
    BOOST_TEST(name_of(co_await with_timeout(1ms, world.peer.ping())) == "ETIMEDOUT");
    BOOST_TEST(name_of(co_await with_timeout(1ms, world.peer.stats())) == "ETIMEDOUT");
    const Service service(world.right, world.key);
    BOOST_TEST(static_cast<bool>(co_await world.peer.ping()));
    BOOST_TEST(static_cast<bool>(co_await world.peer.stats()));
  }(*this));
}

// ---------------------------------------------------------------- the loop

BOOST_AUTO_TEST_CASE(another_loop_drives_the_nodes) {
  const Service service(right, key);
  std::vector<std::string> texts;
  loop.spawn(take_texts(service, 5, texts));
  loop.spawn(send_numbers(peer, 5));
  while (loop.tasks() > 0) {
    pollfd ready{loop.descriptor(), POLLIN, 0};
    BOOST_REQUIRE(::poll(&ready, 1, loop.until_timer() ? 0 : -1) >= 0);
    loop.poll();
  }
  BOOST_TEST((texts == numbers(5)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::cpp
