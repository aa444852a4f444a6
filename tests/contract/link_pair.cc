// SPDX-License-Identifier: BSD-2-Clause
#include "tests/contract/link_pair.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "tests/support/fake_link.h"

namespace exs::contract {
namespace {

constexpr std::uint64_t kClientToken = 1;
constexpr std::uint64_t kServerToken = 2;

bool variant_shares_memory(int variant) {
  return provider_under_test() == "shm" && (variant & 1) != 0;
}

class PortEnd final : public End {
 public:
  explicit PortEnd(std::unique_ptr<DrivenPort> port) : End(port->seen), port_(std::move(port)) {
    port_->become_engine();
  }
  bool turn() override { return port_->turn(); }
  void collect() override { port_->collect(); }
  Link& link() override { return *made_.link; }
  void destroy_link() override { made_.link.reset(); }
  [[nodiscard]] DrivenPort& port() { return *port_; }
  void take_link(SocketAndLink made) { made_ = std::move(made); }

 private:
  const std::unique_ptr<DrivenPort> port_;
  SocketAndLink made_;
};

DrivenPort& port_of(End& end) {
  return static_cast<PortEnd&>(end).port();
}

// Everything under way moves in each round.
class FakeEnd final : public End {
 public:
  FakeEnd(std::vector<std::string>& violations, const LinkDepths& depths)
      : End(completions_), link_(violations, depths) {}
  bool turn() override {
    const std::size_t before = seen.size();
    bool moved = false;
    while (link_.deliver_message() || link_.finish_send()) moved = true;
    while (link_.begin_read()) moved = true;
    while (link_.finish_read()) moved = true;
    if (link_.deliver_end()) moved = true;
    collect();
    return moved || seen.size() != before;
  }
  void collect() override {
    while (const auto completion = link_.poll()) {
      if (!destroyed_) seen.push_back(*completion);
    }
  }
  Link& link() override { return link_; }
  void destroy_link() override { destroyed_ = true; }
  [[nodiscard]] test::FakeLink& fake() { return link_; }

 private:
  std::deque<Completion> completions_;
  test::FakeLink link_;
  bool destroyed_ = false;
};

}  // namespace

std::optional<Completion> End::take(CompletionKind kind) {
  const auto found =
      std::find_if(seen.begin(), seen.end(), [kind](const Completion& one) { return one.kind == kind; });
  if (found == seen.end()) return std::nullopt;
  const Completion taken = *found;
  seen.erase(found);
  return taken;
}

Pair::Pair(int variant_wanted, const LinkDepths& depths)
    : variant(variant_wanted),
      provider(provider_under_test() == "fake" ? nullptr : &provider_of(variant_wanted)) {
  if (is_fake()) {
    auto client_fake = std::make_unique<FakeEnd>(violations_, depths);
    auto server_fake = std::make_unique<FakeEnd>(violations_, depths);
    test::FakeLink::join(client_fake->fake(), server_fake->fake());
    client_end = std::move(client_fake);
    server_end = std::move(server_fake);
    return;
  }
  auto client_port = std::make_unique<PortEnd>(std::make_unique<DrivenPort>(*provider));
  auto server_port = std::make_unique<PortEnd>(std::make_unique<DrivenPort>(*provider));
  PortEnd& near = *client_port;
  PortEnd& far = *server_port;
  client_end = std::move(client_port);
  server_end = std::move(server_port);
  meeting_ = std::make_unique<Meeting>(*provider, near.port(), far.port());
  Connection made = meeting_->join(depths, kClientToken, kServerToken);
  near.take_link(std::move(made.client));
  far.take_link(std::move(made.server));
}

Pair::~Pair() {
  if (is_fake()) return;
  client_end->destroy_link();
  server_end->destroy_link();
}

void Pair::drive_until(const std::function<bool()>& done) {
  if (!is_fake()) return test::drive_until({&port_of(*client_end), &port_of(*server_end)}, done);
  for (int idle = 0; idle < 3; ++idle) {
    const bool client_moved = client_end->turn();
    if (server_end->turn() || client_moved) idle = -1;
    for (const std::string& violation : violations_) throw std::runtime_error(violation);
    if (done()) return;
  }
  throw std::runtime_error("nothing is under way any more");
}

Completion Pair::await(End& end, CompletionKind kind) {
  std::optional<Completion> found;
  drive_until([&] {
    found = end.take(kind);
    return found.has_value();
  });
  return *found;
}

void Pair::first_message() {
  Memory room(*this, 8);
  require(server().post_recv(room.slice(), 0).ok(), "post_recv");
  require(client().post_send(bytes_of("first"), {}, 0).ok(), "post_send");
  server_gets(CompletionKind::kReceive);
  client_gets(CompletionKind::kSend);
}

std::size_t Pair::message_bytes_max() const {
  return provider_under_test() == "verbs" ? kDepths.message_bytes : 65'000;
}

Memory::Memory(Pair& pair, std::size_t bytes)
    : RegisteredMemory(pair.provider, bytes, variant_shares_memory(pair.variant)) {}

Memory::Memory(Pair& pair, std::span<const std::byte> content) : Memory(pair, content.size()) {
  fill(content);
}

}  // namespace exs::contract
