// Calls by stubs of exs-rpcgen, from a client to a server of this process: what comes back, and what is told when it does not.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tests/rpc/fast/everything_server.h"

namespace exs::test {
namespace {

struct CloseClient {
  void operator()(exs_rpc_client_t* client) const { exs_rpc_close(client); }
};
using Client = std::unique_ptr<exs_rpc_client_t, CloseClient>;

constexpr std::int64_t kMillisecond = 1'000'000;

Client open_client(const EverythingServer& server, const exs_rpc_client_options_t* options = nullptr) {
  Client client(everything_one_open(host(), server.port().c_str(), options));
  BOOST_REQUIRE_MESSAGE(client != nullptr, exs_rpc_errtext());
  return client;
}

// "ok", or the name of errno.
std::string outcome(int told) {
  return told == 0 ? "ok" : strerrorname_np(errno);
}

struct Fixture {
  EverythingServer server;
  Client client = open_client(server);
  exs_rpc_context_t context{};
};

// A port that no other program gets, between two servers that have it.
class HeldPort {
 public:
  HeldPort() {
    sockaddr_in address = address_of_host(0);
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    const int yes = 1;
    setsockopt(holder_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    BOOST_REQUIRE_EQUAL(bind(holder_, generic, length), 0);
    BOOST_REQUIRE_EQUAL(getsockname(holder_, generic, &length), 0);
    number_ = ntohs(address.sin_port);
  }
  ~HeldPort() { close(holder_); }
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;
  [[nodiscard]] std::uint16_t number() const { return number_; }

 private:
  int holder_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::uint16_t number_ = 0;
};

char* text(const char* of) {
  return const_cast<char*>(of);
}

tree* leaf(std::vector<std::unique_ptr<tree>>& owner, int value, tree* left = nullptr,
           tree* right = nullptr) {
  owner.push_back(std::make_unique<tree>(tree{left, value, right}));
  return owner.back().get();
}

// A call that does not answer by itself.
exs_rpc_call_t* begin_held(Fixture& fixture, exs_rpc_context_t* context = nullptr, std::size_t held = 1) {
  exs_rpc_call_t* const call = hold_1_begin(fixture.client.get(), context);
  BOOST_REQUIRE(call != nullptr);
  EverythingServer::wait_for_held(held);
  return call;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(fast_test, Fixture)

BOOST_AUTO_TEST_CASE(a_call_of_nothing) {
  BOOST_TEST(outcome(nothing_1(client.get(), &context)) == "ok");
  BOOST_TEST(context.outcome == EXS_RPC_EXECUTED);
  BOOST_TEST(outcome(nothing_1(client.get(), nullptr)) == "ok");
}

BOOST_AUTO_TEST_CASE(every_form_comes_back) {
  std::vector<std::unique_ptr<tree>> trees;
  int numbers[] = {1, 2, 3};
  char* names[] = {text("one"), text(""), text("sixteen letters.")};
  padded many[] = {{'a', 1.5, 1}, {'b', 2.5, 0}};
  int maybe = 42;
  mixed given{};
  given.first = text("first");
  given.a = -1;
  given.b = 0.25;
  std::memcpy(given.c, "xyz", 3);
  given.d = {'p', 3.5, 1};
  given.numbers = {3, numbers};
  given.names = {3, names};
  given.many = {2, many};
  given.fixed[0] = {1, 2, 3.0, -4, -5, 6};
  given.fixed[1] = {7, 8, 9.0, -10, -11, 12};
  given.pair[0] = text("left");
  given.pair[1] = text("right");
  given.maybe = &maybe;
  given.root = leaf(trees, 1, leaf(trees, 2), leaf(trees, 3, leaf(trees, 4)));
  mixed got{};
  BOOST_REQUIRE_MESSAGE(mix_1(client.get(), &given, &got, nullptr) == 0, exs_rpc_errtext());
  BOOST_TEST(std::string(got.first) == "first");
  BOOST_TEST(got.a == -1);
  BOOST_TEST(got.b == 0.25);
  BOOST_TEST(std::string(got.c, 3) == "xyz");
  BOOST_TEST((got.d.a == 'p' && got.d.b == 3.5 && got.d.is_set == 1));
  BOOST_REQUIRE_EQUAL(got.numbers.numbers_len, 3);
  BOOST_TEST(got.numbers.numbers_val[2] == 3);
  BOOST_REQUIRE_EQUAL(got.names.names_len, 3);
  BOOST_TEST(std::string(got.names.names_val[1]).empty());
  BOOST_TEST(std::string(got.names.names_val[2]) == "sixteen letters.");
  BOOST_REQUIRE_EQUAL(got.many.many_len, 2);
  BOOST_TEST((got.many.many_val[1].a == 'b' && got.many.many_val[1].b == 2.5));
  BOOST_TEST((got.fixed[0].a == 1 && got.fixed[1].d == -10 && got.fixed[1].f == 12));
  BOOST_TEST(std::string(got.pair[1]) == "right");
  BOOST_REQUIRE(got.maybe != nullptr);
  BOOST_TEST(*got.maybe == 42);
  BOOST_TEST(got.root->right->left->value == 4);
  BOOST_TEST((got.root->left->left == nullptr && got.root->right->right == nullptr));
  mixed_free(&got);
  BOOST_TEST((got.root == nullptr && got.first == nullptr));
}

BOOST_AUTO_TEST_CASE(arms_of_a_union) {
  node second{text("second"), 2, nullptr};
  node first{text("first"), 1, &second};
  list entries = &first;
  answer got{};
  BOOST_REQUIRE_MESSAGE(answer_1(client.get(), GREEN, &entries, &got, nullptr) == 0, exs_rpc_errtext());
  BOOST_TEST(got.what == GREEN);
  BOOST_TEST(std::string(got.answer_u.entries->next->title) == "second");
  answer_free(&got);
  BOOST_TEST(outcome(answer_1(client.get(), BLUE, &entries, &got, nullptr)) == "ok");
  BOOST_TEST(got.what == BLUE);
  BOOST_TEST(outcome(answer_1(client.get(), GREY, &entries, &got, nullptr)) == "ok");
  BOOST_TEST(std::string(got.answer_u.rest.rest_val, got.answer_u.rest.rest_len) == "abc");
  answer_free(&got);
}

// As by walking it with a stack that a list of any length would end.
BOOST_AUTO_TEST_CASE(a_list_of_two_hundred_thousand) {
  std::vector<node> nodes(200'000, node{text("n"), 0, nullptr});
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
    nodes[i].size = i;
    nodes[i].next = &nodes[i + 1];
  }
  list entries = nodes.data();
  answer got{};
  BOOST_REQUIRE_MESSAGE(answer_1(client.get(), RED, &entries, &got, nullptr) == 0, exs_rpc_errtext());
  std::size_t count = 0;
  for (const node* one = got.answer_u.entries; one != nullptr; one = one->next) ++count;
  BOOST_TEST(count == nodes.size());
  answer_free(&got);
}

BOOST_AUTO_TEST_CASE(pointers_nest_sixty_four_deep) {
  std::vector<std::unique_ptr<tree>> trees;
  tree* deep = leaf(trees, 0);
  for (int i = 0; i < 60; ++i) deep = leaf(trees, i, deep);
  mixed given{};
  given.first = given.pair[0] = given.pair[1] = text("");
  given.root = deep;
  mixed got{};
  BOOST_TEST(outcome(mix_1(client.get(), &given, &got, nullptr)) == "ok");
  mixed_free(&got);
  for (int i = 0; i < 10; ++i) deep = leaf(trees, i, deep);
  given.root = deep;
  BOOST_TEST(outcome(mix_1(client.get(), &given, &got, &context)) == "EINVAL");
  BOOST_TEST(context.outcome == EXS_RPC_NOT_EXECUTED);
}

BOOST_AUTO_TEST_CASE(results_take_the_place_of_arguments) {
  exact values[] = {{1, 1}, {2, 2}, {3, 3}};
  points inout{3, values};
  BOOST_REQUIRE_MESSAGE(scale_1(client.get(), &inout, nullptr) == 0, exs_rpc_errtext());
  BOOST_TEST(inout.points_val == values);
  BOOST_TEST((values[2].x == 6 && values[2].y == 9));
  exact pair{1, 2};
  BOOST_TEST(outcome(swap_1(client.get(), &pair, nullptr)) == "ok");
  BOOST_TEST((pair.x == 2 && pair.y == 1));
}

BOOST_AUTO_TEST_CASE(results_go_to_memory_of_the_callers) {
  std::vector<char> room(100, 'r');
  blob result{100, room.data()};
  context.flags = EXS_RPC_IN_PLACE;
  BOOST_TEST(outcome(make_1(client.get(), 60, &result, &context)) == "ok");
  BOOST_TEST((result.blob_len == 60 && result.blob_val == room.data()));
  BOOST_TEST((room[59] == '\0' && room[60] == 'r'));
  result.blob_len = 100;
  BOOST_TEST(outcome(make_1(client.get(), 101, &result, &context)) == "EMSGSIZE");
  BOOST_TEST(context.outcome == EXS_RPC_EXECUTED);
  BOOST_TEST(outcome(nothing_1(client.get(), nullptr)) == "ok");
}

BOOST_AUTO_TEST_CASE(flat_ones_strings_and_numbers) {
  const digest given = {'a', 'b', 'c'};
  digest got{};
  BOOST_TEST(outcome(hash_1(client.get(), &given, &got, nullptr)) == "ok");
  BOOST_TEST(std::memcmp(got, given, sizeof given) == 0);
  const flat whole{1, 2, 3.5, -4, -5, 6};
  flat copy{};
  BOOST_TEST(outcome(flat_1(client.get(), &whole, &copy, nullptr)) == "ok");
  BOOST_TEST((copy.a == 1 && copy.b == 2 && copy.c == 3.5 && copy.d == -4 && copy.e == -5 && copy.f == 6));
  name told = nullptr;
  BOOST_TEST(outcome(echo_1(client.get(), "hello", &told, nullptr)) == "ok");
  BOOST_TEST(std::string(told) == "hello");
  name_free(&told);
  int sum = 0;
  BOOST_TEST(outcome(add_1(client.get(), 20, 22, &sum, nullptr)) == "ok");
  BOOST_TEST(sum == 42);
}

BOOST_AUTO_TEST_CASE(messages_of_every_length) {
  for (const std::size_t length : {0, 1, 7, 8, 4064, 4072, 4073, 4080, 4096, 65536, 1 << 20, 20 << 20}) {
    std::vector<char> given(length);
    std::iota(given.begin(), given.end(), char{1});
    const blob argument{static_cast<unsigned>(length), given.data()};
    blob got{};
    BOOST_REQUIRE_MESSAGE(copy_1(client.get(), &argument, &got, nullptr) == 0, exs_rpc_errtext());
    BOOST_REQUIRE_EQUAL(got.blob_len, length);
    BOOST_TEST((length == 0 || std::memcmp(got.blob_val, given.data(), length) == 0));
    blob_free(&got);
  }
}

BOOST_AUTO_TEST_CASE(one_way_calls_all_arrive) {
  constexpr int kCalls = 1000;
  for (int i = 0; i < kCalls; ++i) BOOST_REQUIRE_EQUAL(note_1(client.get(), 1, nullptr), 0);
  int notes = 0;
  BOOST_TEST(outcome(notes_1(client.get(), &notes, nullptr)) == "ok");
  BOOST_TEST(notes == kCalls);
  BOOST_TEST(note_1(client.get(), 5, nullptr) == 0);
  client.reset();  // waits for it
  client = open_client(server);
  BOOST_TEST(outcome(notes_1(client.get(), &notes, nullptr)) == "ok");
  BOOST_TEST(notes == kCalls + 5);
}

// ---------------------------------------------------------------- several at a time

BOOST_AUTO_TEST_CASE(calls_under_way_at_a_time) {
  std::vector<exs_rpc_call_t*> calls;
  for (int i = 0; i < 8; ++i) calls.push_back(add_1_begin(client.get(), i, 100, nullptr));
  for (int i = 8; i-- > 0;) {
    int sum = 0;
    BOOST_REQUIRE(calls[static_cast<std::size_t>(i)] != nullptr);
    BOOST_TEST(outcome(add_1_end(calls[static_cast<std::size_t>(i)], &sum)) == "ok");
    BOOST_TEST(sum == i + 100);
  }
}

BOOST_AUTO_TEST_CASE(no_more_at_a_time_than_there_are_slots) {
  std::vector<exs_rpc_call_t*> calls;
  for (std::size_t i = 1; i <= 7; ++i) calls.push_back(begin_held(*this, nullptr, i));
  exs_rpc_call_t* const last = hold_1_begin(client.get(), nullptr);
  BOOST_REQUIRE(last != nullptr);
  EverythingServer::wait_for_held(8);
  BOOST_TEST(hold_1_begin(client.get(), nullptr) == nullptr);
  BOOST_TEST(errno == EAGAIN);
  context.timeout_ns = 20 * kMillisecond;
  BOOST_TEST(outcome(nothing_1(client.get(), &context)) == "ETIMEDOUT");
  BOOST_TEST(context.outcome == EXS_RPC_NOT_EXECUTED);
  int released = 0;
  const Client another = open_client(server);
  BOOST_TEST(outcome(release_1(another.get(), &released, nullptr)) == "ok");
  BOOST_TEST(released == 8);
  calls.push_back(last);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    int order = 0;
    BOOST_TEST(outcome(hold_1_end(calls[i], &order)) == "ok");
    BOOST_TEST(order == static_cast<int>(i) + 1);
  }
}

BOOST_AUTO_TEST_CASE(calls_wait_for_slots) {
  exs_rpc_client_options_t options{};
  options.struct_bytes = sizeof options;
  options.slots = 2;
  options.waiting_max = 20;
  const Client own = open_client(server, &options);
  std::vector<exs_rpc_call_t*> calls;
  for (int i = 0; i < 2; ++i) calls.push_back(hold_1_begin(own.get(), nullptr));
  EverythingServer::wait_for_held(2);
  std::vector<char> bytes(10'000, 'b');
  const blob longer{static_cast<unsigned>(bytes.size()), bytes.data()};
  exs_rpc_context_t late{};
  late.timeout_ns = kMillisecond;
  exs_rpc_call_t* const overdue = add_1_begin(own.get(), 1, 1, &late);
  exs_rpc_call_t* const cancelled = add_1_begin(own.get(), 1, 1, &context);
  exs_rpc_call_t* const copied = copy_1_begin(own.get(), &longer, nullptr);
  std::vector<exs_rpc_call_t*> sums;
  while (exs_rpc_call_t* const call = add_1_begin(own.get(), static_cast<int>(sums.size()), 1, nullptr))
    sums.push_back(call);
  BOOST_TEST(errno == EAGAIN);
  BOOST_TEST(sums.size() == 17);
  exs_rpc_cancel(cancelled);
  int result = 0;
  BOOST_TEST(outcome(add_1_end(cancelled, &result)) == "ECANCELED");
  BOOST_TEST(context.outcome == EXS_RPC_NOT_EXECUTED);
  BOOST_TEST(outcome(add_1_end(overdue, &result)) == "ETIMEDOUT");
  BOOST_TEST(late.outcome == EXS_RPC_NOT_EXECUTED);
  BOOST_TEST(outcome(release_1(client.get(), &result, nullptr)) == "ok");
  for (std::size_t i = 0; i < sums.size(); ++i) {
    BOOST_TEST(outcome(add_1_end(sums[i], &result)) == "ok");
    BOOST_TEST(result == static_cast<int>(i) + 1);
  }
  blob got{};
  BOOST_TEST(outcome(copy_1_end(copied, &got)) == "ok");
  BOOST_TEST((got.blob_len == bytes.size() && std::memcmp(got.blob_val, bytes.data(), bytes.size()) == 0));
  blob_free(&got);
  for (exs_rpc_call_t* const call : calls) BOOST_TEST(outcome(hold_1_end(call, &result)) == "ok");
}

BOOST_AUTO_TEST_CASE(calls_that_wait_for_slots_when_the_server_ends) {
  exs_rpc_client_options_t options{};
  options.struct_bytes = sizeof options;
  options.slots = 1;
  options.waiting_max = 1;
  auto own = std::make_unique<EverythingServer>();
  const Client caller = open_client(*own, &options);
  exs_rpc_call_t* const held = hold_1_begin(caller.get(), nullptr);
  EverythingServer::wait_for_held(1);
  exs_rpc_call_t* const waiting = add_1_begin(caller.get(), 1, 1, &context);
  own.reset();
  int result = 0;
  BOOST_TEST(outcome(add_1_end(waiting, &result)) == "ECONNRESET");
  BOOST_TEST(context.outcome == EXS_RPC_NOT_EXECUTED);
  BOOST_TEST(outcome(hold_1_end(held, &result)) == "ECONNRESET");
}

BOOST_AUTO_TEST_CASE(answers_come_from_other_threads_and_out_of_order) {
  exs_rpc_call_t* const held = begin_held(*this);
  int result = 0;
  BOOST_TEST(outcome(later_1(client.get(), 41, &result, nullptr)) == "ok");
  BOOST_TEST(result == 42);
  BOOST_TEST(exs_rpc_test(held) == 0);
  BOOST_TEST(outcome(release_1(client.get(), &result, nullptr)) == "ok");
  BOOST_TEST(outcome(hold_1_end(held, &result)) == "ok");
  BOOST_TEST(result == 1);
}

BOOST_AUTO_TEST_CASE(threads_share_a_client) {
  constexpr int kThreads = 8;
  constexpr int kCalls = 200;
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) {
        int result = 0;
        const int told = i % 4 == 0 ? later_1(client.get(), t, &result, nullptr)
                                    : add_1(client.get(), t, 1, &result, nullptr);
        if (told == 0 && result == t + 1) ++right;
      }
    });
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(right == kThreads * kCalls);
}

BOOST_AUTO_TEST_CASE(a_server_of_several_threads) {
  exs_rpc_server_options_t options{};
  options.struct_bytes = sizeof options;
  options.threads = 3;
  const EverythingServer threaded(&options);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      const Client own(everything_one_open(host(), threaded.port().c_str(), nullptr));
      for (int i = 0; i < 100; ++i) {
        int sum = 0;
        if (add_1(own.get(), i, i, &sum, nullptr) == 0 && sum == 2 * i) ++right;
      }
    });
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(right == 600);
}

BOOST_AUTO_TEST_CASE(three_hundred_clients_of_two_threads) {
  exs_rpc_server_options_t options{};
  options.struct_bytes = sizeof options;
  options.threads = 2;
  const EverythingServer threaded(&options);
  std::vector<Client> clients;
  for (int i = 0; i < 300; ++i) clients.push_back(open_client(threaded));
  std::vector<exs_rpc_call_t*> calls;
  for (int i = 0; i < 300; ++i)
    calls.push_back(add_1_begin(clients[static_cast<std::size_t>(i)].get(), i, 1, nullptr));
  for (int i = 0; i < 300; ++i) {
    int sum = 0;
    BOOST_TEST(outcome(add_1_end(calls[static_cast<std::size_t>(i)], &sum)) == "ok");
    BOOST_TEST(sum == i + 1);
  }
}

// ---------------------------------------------------------------- what can go wrong

BOOST_AUTO_TEST_CASE(a_procedure_that_fails) {
  int result = 0;
  BOOST_TEST(outcome(fail_1(client.get(), 77, &result, &context)) == "EREMOTEIO");
  BOOST_TEST(context.remote_status == 77);
  BOOST_TEST(context.outcome == EXS_RPC_EXECUTED);
  BOOST_TEST(outcome(fail_1(client.get(), 0, &result, &context)) == "ok");
}

BOOST_AUTO_TEST_CASE(a_result_that_cannot_be_sent) {
  name result = nullptr;
  BOOST_TEST(outcome(bad_1(client.get(), &result, &context)) == "EMSGSIZE");
  BOOST_TEST(context.outcome == EXS_RPC_EXECUTED);
  BOOST_TEST(outcome(nothing_1(client.get(), nullptr)) == "ok");
}

BOOST_AUTO_TEST_CASE(arguments_that_cannot_be_sent) {
  name told = nullptr;
  BOOST_TEST(outcome(echo_1(client.get(), nullptr, &told, &context)) == "EINVAL");
  BOOST_TEST(outcome(echo_1(client.get(), "seventeen letters", &told, &context)) == "EMSGSIZE");
  BOOST_TEST(context.outcome == EXS_RPC_NOT_EXECUTED);
  mixed given{};
  given.first = given.pair[0] = given.pair[1] = text("");
  int numbers[9] = {};
  given.numbers = {9, numbers};
  mixed got{};
  BOOST_TEST(outcome(mix_1(client.get(), &given, &got, nullptr)) == "EMSGSIZE");
  given.numbers = {3, nullptr};
  BOOST_TEST(outcome(mix_1(client.get(), &given, &got, nullptr)) == "EINVAL");
  BOOST_TEST(outcome(mix_1(client.get(), nullptr, &got, nullptr)) == "EINVAL");
  context.timeout_ns = -1;
  BOOST_TEST(outcome(nothing_1(client.get(), &context)) == "EINVAL");
  BOOST_TEST(outcome(nothing_1(nullptr, nullptr)) == "EINVAL");
  BOOST_TEST(outcome(nothing_1(client.get(), nullptr)) == "ok");
}

BOOST_AUTO_TEST_CASE(messages_longer_than_either_end_takes) {
  exs_rpc_server_options_t options{};
  options.struct_bytes = sizeof options;
  options.message_bytes_max = 1 << 20;
  const EverythingServer small(&options);
  const Client own = open_client(small);
  std::vector<char> given(1 << 20);
  const blob argument{static_cast<unsigned>(given.size()), given.data()};
  blob got{};
  BOOST_TEST(outcome(copy_1(own.get(), &argument, &got, &context)) == "EMSGSIZE");
  BOOST_TEST(context.outcome == EXS_RPC_NOT_EXECUTED);
  BOOST_TEST(outcome(nothing_1(own.get(), nullptr)) == "ok");
}

BOOST_AUTO_TEST_CASE(no_answer_in_time) {
  int result = 0;
  context.timeout_ns = 20 * kMillisecond;
  BOOST_TEST(outcome(hold_1(client.get(), &result, &context)) == "ETIMEDOUT");
  BOOST_TEST(context.outcome == EXS_RPC_UNKNOWN);
  // Its slot is free again when its answer has come, which nobody sees.
  BOOST_TEST(outcome(release_1(client.get(), &result, nullptr)) == "ok");
  BOOST_TEST(EverythingServer::state().cancelled == 1);
  for (int i = 0; i < 20; ++i) BOOST_TEST(outcome(nothing_1(client.get(), nullptr)) == "ok");
}

BOOST_AUTO_TEST_CASE(servers_know_how_much_time_is_left) {
  std::int64_t left_ms = 0;
  context.timeout_ns = 5000 * kMillisecond;
  BOOST_TEST(outcome(left_1(client.get(), &left_ms, &context)) == "ok");
  BOOST_TEST((left_ms > 1000 && left_ms <= 5000));
}

BOOST_AUTO_TEST_CASE(a_call_is_cancelled) {
  exs_rpc_call_t* const call = begin_held(*this, &context);
  exs_rpc_cancel(call);
  BOOST_TEST(exs_rpc_test(call) == 1);
  int result = 0;
  BOOST_TEST(outcome(hold_1_end(call, &result)) == "ECANCELED");
  BOOST_TEST(context.outcome == EXS_RPC_UNKNOWN);
  BOOST_TEST(outcome(release_1(client.get(), &result, nullptr)) == "ok");
  BOOST_TEST(EverythingServer::state().cancelled == 1);
}

BOOST_AUTO_TEST_CASE(the_server_ends_and_another_comes) {
  exs_rpc_context_t waiting{};
  const HeldPort port;
  auto own = std::make_unique<EverythingServer>(nullptr, port.number());
  const Client caller = open_client(*own);
  exs_rpc_call_t* const call = add_1_begin(caller.get(), 1, 2, nullptr);
  int sum = 0;
  BOOST_TEST(outcome(add_1_end(call, &sum)) == "ok");
  exs_rpc_call_t* const held = fail_1_begin(caller.get(), 0, &waiting);
  BOOST_TEST(outcome(fail_1_end(held, &sum)) == "ok");
  own.reset();
  BOOST_TEST(outcome(nothing_1(caller.get(), &context)) != "ok");
  own = std::make_unique<EverythingServer>(nullptr, port.number());
  BOOST_TEST(outcome(nothing_1(caller.get(), &context)) == "ok");
}

BOOST_AUTO_TEST_CASE(a_call_under_way_when_the_server_ends) {
  auto own = std::make_unique<EverythingServer>();
  const Client caller = open_client(*own);
  exs_rpc_call_t* const call = hold_1_begin(caller.get(), &context);
  EverythingServer::wait_for_held(1);
  own.reset();
  int result = 0;
  BOOST_TEST(outcome(hold_1_end(call, &result)) == "ECONNRESET");
  BOOST_TEST(context.outcome == EXS_RPC_UNKNOWN);
}

BOOST_AUTO_TEST_CASE(a_client_ends_while_its_call_is_held) {
  Client caller = open_client(server);
  exs_rpc_call_t* const call = hold_1_begin(caller.get(), nullptr);
  BOOST_REQUIRE(call != nullptr);
  EverythingServer::wait_for_held(1);
  caller.reset();
  int released = 0;
  BOOST_TEST(outcome(release_1(client.get(), &released, nullptr)) == "ok");
  BOOST_TEST(released == 1);
}

// The same program as another client knows it.
BOOST_AUTO_TEST_CASE(interfaces_that_differ) {
  const exs_rpc_procedure_t& known = everything_one_interface.procedures[0];
  const exs_rpc_procedure_t procedures[] = {
      {"NOTHING", known.number, 0, known.hash, nullptr, nullptr},
      {"ECHO", 6, 0, known.hash, nullptr, nullptr},
      {"ABSENT", 99, 0, known.hash, nullptr, nullptr},
  };
  exs_rpc_interface_t interface { "EVERYTHING.ONE", everything_one_interface.program, 1, 3, procedures };
  const auto open = [&] { return exs_rpc_open(host(), server.port().c_str(), &interface, nullptr); };
  const Client other(open());
  BOOST_REQUIRE_MESSAGE(other != nullptr, exs_rpc_errtext());
  const auto call = [&](std::uint32_t procedure) {
    return outcome(exs_rpc_invoke(other.get(), procedure, nullptr, nullptr, &context));
  };
  BOOST_TEST(call(0) == "ok");
  BOOST_TEST(call(1) == "EPROTONOSUPPORT");
  BOOST_TEST(context.outcome == EXS_RPC_NOT_EXECUTED);
  BOOST_TEST(call(2) == "ENOSYS");
  BOOST_TEST(call(3) == "EINVAL");
  interface.version = 2;
  BOOST_TEST(open() == nullptr);
  BOOST_TEST(errno == EPROTONOSUPPORT);
  ++interface.program;
  BOOST_TEST(open() == nullptr);
  BOOST_TEST(errno == EPROTONOSUPPORT);
}

BOOST_AUTO_TEST_CASE(nobody_listens_and_there_is_no_such_name) {
  const std::string port = server.port();
  BOOST_TEST(exs_rpc_open(host(), "1", &everything_one_interface, nullptr) == nullptr);
  BOOST_TEST(errno == ECONNREFUSED);
  BOOST_TEST(exs_rpc_open("no such name", "1", &everything_one_interface, nullptr) == nullptr);
  BOOST_TEST(errno == ENOENT);
  BOOST_TEST(exs_rpc_open(nullptr, "1", &everything_one_interface, nullptr) == nullptr);
  BOOST_TEST(errno == EINVAL);
}

BOOST_AUTO_TEST_CASE(more_clients_than_the_server_takes) {
  exs_rpc_server_options_t options{};
  options.struct_bytes = sizeof options;
  options.clients_max = 2;
  const EverythingServer small(&options);
  Client first = open_client(small);
  const Client second = open_client(small);
  BOOST_TEST(everything_one_open(host(), small.port().c_str(), nullptr) == nullptr);
  BOOST_TEST(errno == EAGAIN);
  BOOST_TEST(outcome(nothing_1(first.get(), nullptr)) == "ok");
}

BOOST_AUTO_TEST_CASE(options_and_orders_that_are_wrong) {
  exs_rpc_server_options_t options{};
  BOOST_TEST(exs_rpc_server_create(&options) == nullptr);
  BOOST_TEST(errno == EINVAL);
  options.struct_bytes = sizeof options;
  options.slots = 65;
  BOOST_TEST(exs_rpc_server_create(&options) == nullptr);
  exs_rpc_server_t* const idle = exs_rpc_server_create(nullptr);
  BOOST_TEST(outcome(exs_rpc_server_run(idle)) == "EINVAL");
  BOOST_TEST(exs_rpc_server_add(idle, &everything_one_service, nullptr) == 0);
  BOOST_TEST(outcome(exs_rpc_server_add(idle, &everything_one_service, nullptr)) == "EEXIST");
  exs_rpc_server_delete(idle);
  exs_rpc_client_options_t wishes{};
  wishes.struct_bytes = sizeof wishes;
  wishes.timeout_ns = -1;
  BOOST_TEST(everything_one_open(host(), server.port().c_str(), &wishes) == nullptr);
  BOOST_TEST(errno == EINVAL);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
