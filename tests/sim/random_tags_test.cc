// Random messages by match bits between three endpoints of one thread, on random networks: each request completes once, and each
// message arrives once and whole, or its send has failed. EXS_SIM_TAG_SEED=S runs one seed alone.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs/msg.h>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "src/provider/sim/draws.h"
#include "tests/sim/world.h"
#include "tests/support/job.h"

namespace exs::test::sim {
namespace random_tags_test {

constexpr int kEnds = 3;
constexpr std::uint64_t kSeeds = 300;
constexpr std::int64_t kDrainNs = 1'000'000'000;

std::byte byte_of(std::uint64_t message, std::size_t at) {
  return static_cast<std::byte>(exs::sim::mixed(message * 77 + at));
}

struct Request {
  bool is_receive = false;
  int end = 0;
  std::vector<std::byte> memory;
  exm_request_t handle = 0;
  std::uint64_t message = 0;  // of a send: its number
  bool done = false;
  bool refused = false;
};

class Endpoints {
 public:
  explicit Endpoints(std::uint64_t seed) : draws_(seed) {
    setenv("EXS_PROVIDER", network_of(seed).c_str(), 1);
    for (int i = 0; i < kEnds; ++i) open(i);
    for (int i = 0; i < kEnds; ++i) {
      for (int j = 0; j < kEnds; ++j) introduce(i, j);
    }
  }
  ~Endpoints() {
    for (exm_ep_t end : ends_) {
      if (end != nullptr) exm_finalize(end);
    }
  }
  Endpoints(const Endpoints&) = delete;
  Endpoints& operator=(const Endpoints&) = delete;

  void run() {
    const std::uint64_t actions = 30 + draws_.below(100);
    for (std::uint64_t i = 0; i < actions; ++i) {
      const int end = static_cast<int>(draws_.below(kEnds));
      switch (draws_.below(5)) {
        case 0:
        case 1: send(end); break;
        case 2:
        case 3: receive(end, false); break;
        default: poll(end, static_cast<std::int64_t>(draws_.below(100'000)));
      }
    }
    drain();
    check();
  }
  [[nodiscard]] std::uint64_t arrived() const { return arrived_count_; }

 private:
  void open(int end) {
    names_[end] = address_text(ports_[end].address());
    const char* const address = names_[end].c_str();
    exm_config_t config{};
    config.struct_bytes = sizeof config;
    config.addresses = &address;
    config.eager_bytes = draws_.below(2) == 0 ? 256 : 0;
    // A simulation that is short of memory may be so from the start.
    for (int tries = 0; exm_open(&config, &ends_[end]) != 0; ++tries) {
      if (errno != ENOMEM || tries > 10) throw Wrong(std::string("exm_open: ") + exs_errtext());
    }
  }
  void introduce(int end, int other) {
    std::array<std::uint8_t, EXM_NAME_BYTES> name{};
    std::size_t length = name.size();
    const bool done = exm_name(ends_[other], name.data(), &length) == 0 &&
                      exm_peer(ends_[end], name.data(), length, &peers_[end][other]) == 0;
    if (!done) throw Wrong(std::string("exm_peer: ") + exs_errtext());
  }
  void send(int end) {
    constexpr std::size_t kLengths[] = {0, 1, 8, 100, 1000, 3000, 9000, 40'000};
    const int to = static_cast<int>(draws_.below(kEnds));
    const std::size_t length = kLengths[draws_.below(8)];
    Request& request = begin(end, false, length);
    request.message = requests_.size();
    lengths_[request.message] = length;
    for (std::size_t i = 0; i < length; ++i) request.memory[i] = byte_of(request.message, i);
    const exs_iovec_t piece{request.memory.data(), length, EXS_MHANDLE_UNREGISTERED, 0};
    const int flags = EXM_DATA | (draws_.below(4) == 0 ? EXM_SYNC : 0);
    if (exm_tsend(ends_[end], &piece, 1, peers_[end][to], draws_.below(3), request.message, flags,
                  reinterpret_cast<void*>(requests_.size()), &request.handle) != 0)
      return refused();
    if (request.handle == 0) complete(request, 0);
  }
  void receive(int end, bool any) {
    Request& request = begin(end, true, 40'000);
    const exs_iovec_t piece{request.memory.data(), request.memory.size(), EXS_MHANDLE_UNREGISTERED, 0};
    const bool from_any = any || draws_.below(2) == 0;
    const int peer = from_any ? EXM_ANY_SOURCE : peers_[end][draws_.below(kEnds)];
    const std::uint64_t ignore = any || draws_.below(3) == 0 ? ~std::uint64_t{0} : 0;
    if (exm_trecv(ends_[end], &piece, 1, peer, draws_.below(3), ignore,
                  reinterpret_cast<void*>(requests_.size()), &request.handle) != 0)
      refused();
  }
  Request& begin(int end, bool is_receive, std::size_t length) {
    ++open_;
    Request made;
    made.is_receive = is_receive;
    made.end = end;
    made.memory.resize(std::max<std::size_t>(length, 1));
    return requests_.emplace_back(std::move(made));
  }
  void refused() {
    if (errno != ENOMEM && errno != EAGAIN) throw Wrong(std::string("a call was refused: ") + exs_errtext());
    requests_.back().refused = true;
    requests_.back().done = true;
    --open_;
  }
  void complete(Request& request, int error) {
    constexpr int kErrors[] = {0,         ECONNRESET, EPIPE,        ECANCELED,
                               ETIMEDOUT, ENOMEM,     ECONNREFUSED, EHOSTUNREACH};
    if (request.refused) throw Wrong("a completion of a call that has failed");
    if (request.done) throw Wrong("a second completion");
    if (std::find(std::begin(kErrors), std::end(kErrors), error) == std::end(kErrors))
      throw Wrong("an error that nothing explains: " + std::to_string(error));
    request.done = true;
    --open_;
  }
  void poll(int end, std::int64_t limit_ns) {
    exm_completion_t found[16];
    const int count = exm_tpoll(ends_[end], found, 16, limit_ns);
    if (count < 0 && errno != EINTR && errno != ENOMEM)
      throw Wrong(std::string("exm_tpoll: ") + exs_errtext());
    for (int i = 0; i < count; ++i) take(end, found[i]);
  }
  void take(int end, const exm_completion_t& found) {
    const auto id = reinterpret_cast<std::uint64_t>(found.user);
    if (id == 0 || id > requests_.size()) throw Wrong("a completion of no request");
    Request& request = requests_[id - 1];
    if (request.end != end || request.is_receive != ((found.flags & EXM_RECEIVED) != 0))
      throw Wrong("a completion of another request");
    complete(request, found.error);
    if (!request.is_receive || found.error != 0) return;
    const std::uint64_t message = found.data;
    if (message == 0 || message > requests_.size() || requests_[message - 1].is_receive)
      throw Wrong("a message that nobody has sent");
    if (!arrived_.insert({message, true}).second) throw Wrong("a message that arrived twice");
    const std::size_t length = sent_length(message);
    if (found.length != length) throw Wrong("a message of another length");
    for (std::size_t i = 0; i < length; ++i) {
      if (request.memory[i] != byte_of(message, i)) throw Wrong("a message with other bytes");
    }
    ++arrived_count_;
  }
  [[nodiscard]] std::size_t sent_length(std::uint64_t message) const { return lengths_.at(message); }
  // Receives for what is sent, then no receives for what is not.
  void drain() {
    for (int round = 0; round < 60 && sends_open() > 0; ++round) {
      for (int end = 0; end < kEnds; ++end) {
        receive(end, true);
        poll(end, 2'000'000);
      }
    }
    for (Request& request : requests_) {
      if (!request.done && request.is_receive) exm_cancel(ends_[request.end], request.handle);
    }
    // A send waits for 10 s until it gives up a rank that refuses it, and signals that interrupt polls shorten these.
    for (int idle = 0; open_ > 0 && idle < 400; ++idle) {
      const std::size_t before = open_;
      for (int end = 0; end < kEnds; ++end) poll(end, kDrainNs / 10);
      if (open_ != before) idle = 0;
    }
  }
  [[nodiscard]] std::size_t sends_open() const {
    std::size_t count = 0;
    for (const Request& request : requests_) count += !request.done && !request.is_receive ? 1 : 0;
    return count;
  }
  void check() const {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (!requests_[i].done)
        throw Wrong(std::string(requests_[i].is_receive ? "a receive" : "a send") +
                    " never completed: request " + std::to_string(i + 1));
    }
  }

  exs::sim::Draws draws_;
  std::array<HeldPort, kEnds> ports_;
  std::array<std::string, kEnds> names_;
  std::array<exm_ep_t, kEnds> ends_{};
  std::array<std::array<int, kEnds>, kEnds> peers_{};
  std::deque<Request> requests_;
  std::map<std::uint64_t, std::size_t> lengths_;
  std::map<std::uint64_t, bool> arrived_;
  std::uint64_t arrived_count_ = 0;
  std::size_t open_ = 0;
};

}  // namespace random_tags_test

BOOST_AUTO_TEST_SUITE(random_tags_test)

BOOST_AUTO_TEST_CASE(every_request_completes_once_and_every_message_is_whole) {
  using namespace random_tags_test;
  setenv("EXS_LOG", "off", 0);
  const char* const only = std::getenv("EXS_SIM_TAG_SEED");
  const std::uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
  const std::uint64_t seeds = only != nullptr ? 1 : kSeeds;
  std::uint64_t arrived = 0;
  int failures = 0;
  for (std::uint64_t seed = first; seed < first + seeds && failures < 5; ++seed) {
    try {
      Endpoints endpoints(seed);
      endpoints.run();
      arrived += endpoints.arrived();
    } catch (const Wrong& wrong) {
      ++failures;
      BOOST_ERROR("EXS_SIM_TAG_SEED=" << seed << " tests-sim --run_test=random_tags_test: " << wrong.what()
                                      << " (" << network_of(seed) << ")");
    }
  }
  BOOST_TEST_MESSAGE(seeds << " seeds: " << arrived << " messages arrived");
  if (seeds > 1) BOOST_TEST(arrived > 5 * seeds);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test::sim
