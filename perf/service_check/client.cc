// SPDX-License-Identifier: BSD-2-Clause
#include "perf/service_check/client.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "perf/service_check/holdings.h"
#include "perf/service_check/words.h"
#include "tools/common/clock.h"

namespace service_check {
namespace {

constexpr std::size_t kUnderWay = 16;
constexpr std::int64_t kFindNs = 60'000'000'000;
constexpr std::int64_t kTurnNs = 500'000;  // the fate of messages has no event

class Client {
 public:
  Client(const ClientSettings& settings, Board& board)
      : settings_(settings), board_(board), account_(board.accounts[settings.kind]) {
    exs_svc_node_options_t options{};
    options.struct_bytes = sizeof options;
    options.find_ns = kFindNs;
    options.names = settings.names.c_str();
    options.find_by = settings.names.empty() ? EXS_SVC_BY_HOST : EXS_SVC_BY_HOST | EXS_SVC_BY_FILE;
    node_ = exs_svc_node_open(&options);
    if (node_ == nullptr) fail("cannot open a node");
    peer_ = exs_svc_peer_open(node_, nullptr, &settings.service, nullptr, nullptr);
    if (peer_ == nullptr) fail("cannot open a peer");
  }
  ~Client() { exs_svc_node_close(node_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void run() {
    for (int phase = board_.phase; phase != Board::kOver; phase = board_.phase) {
      if (phase % 2 == 0)
        send_what_fits();
      else if (account_.reached != phase)
        rest(phase);
      take_events();
    }
  }

 private:
  struct Slot {
    Number number = 0;
    bool is_used = false;
    std::vector<char> item;
  };

  void send_what_fits() {
    is_asked_ = false;
    for (Slot& slot : slots_)
      if (!slot.is_used && !send(slot)) return;
  }
  bool send(Slot& slot) {
    const Number number = account_.sent;
    if (number == Account::kMost) return false;
    Ask ask{settings_.kind, number};
    const exs_svc_item_t item{&ask, sizeof ask};
    account_.fates[number] = Fate::kUnderWay;
    account_.sent = number + 1;
    if (post(slot, item, number) == 0) {
      slot.is_used = settings_.kind != kMessages;
      slot.number = number;
      return true;
    }
    if (errno != EAGAIN) fail("cannot send");
    account_.sent = number;
    return false;
  }
  int post(Slot& slot, const exs_svc_item_t& item, Number number) {
    if (settings_.kind == kMessages) return exs_svc_send_short(peer_, &item, 1);
    if (settings_.kind == kLongs) {
      slot.item.assign(kLongBytes, pattern_of(number));
      const exs_iovec_t piece{slot.item.data(), slot.item.size(), EXS_MHANDLE_UNREGISTERED, 0};
      return exs_svc_send_long(peer_, &item, 1, &piece, 1, &slot);
    }
    exs_svc_request_options_t options{};
    options.struct_bytes = sizeof options;
    options.flags = settings_.kind == kIdempotent ? EXS_SVC_IDEMPOTENT : 0;
    return exs_svc_request(peer_, &item, 1, nullptr, 0, &options, &slot);
  }

  // Operations with an event have ended when no slot is used. Messages have ended when a later ping is answered.
  void rest(int phase) {
    for (const Slot& slot : slots_)
      if (slot.is_used) return;
    if (is_answered_) {
      is_answered_ = is_asked_ = false;
      account_.reached = phase;
    } else if (!is_asked_) {
      is_asked_ = exs_svc_ping(peer_) == 0;
    }
  }

  void take_events() {
    std::array<exs_svc_event_t, 16> events;
    const int count = exs_svc_wait(node_, events.data(), static_cast<int>(events.size()), kTurnNs);
    if (count < 0 && errno != EINTR) fail("cannot wait");
    for (int i = 0; i < count; ++i) take(events[static_cast<std::size_t>(i)]);
  }
  void take(const exs_svc_event_t& event) {
    switch (event.type) {
      case EXS_SVC_EVT_PONG: is_answered_ = true; return;
      case EXS_SVC_EVT_RESTART: account_.told += event.count; return;
      case EXS_SVC_EVT_SENT:
      case EXS_SVC_EVT_REPLY: return ended(event);
      default: throw tools::Failure(std::string("told of what never was: ") + std::strerror(event.error));
    }
  }
  void ended(const exs_svc_event_t& event) {
    auto& slot = *static_cast<Slot*>(event.handle);
    Fate& fate = account_.fates[slot.number];
    if (!slot.is_used || fate != Fate::kUnderWay) throw tools::Failure("something ended twice");
    if (event.error != 0 && (event.error != EOWNERDEAD || settings_.kind == kIdempotent))
      throw tools::Failure(std::string("something ended with: ") + std::strerror(event.error));
    slot.is_used = false;
    fate = event.error == 0 ? Fate::kDone : Fate::kUnknown;
    if (event.message == nullptr) return;
    const Answer answer = read_item<Answer>(*event.message);
    if (answer.number != slot.number) throw tools::Failure("the reply of another request");
    board_.note_first(settings_.kind, answer.life, exs::monotonic_ns());
    exs_svc_release(event.message);
  }

  const ClientSettings settings_;
  Board& board_;
  Account& account_;
  exs_svc_node_t* node_ = nullptr;
  exs_svc_peer_t* peer_ = nullptr;
  std::array<Slot, kUnderWay> slots_;
  bool is_asked_ = false;     // a ping was sent
  bool is_answered_ = false;  // the ping was answered
};

}  // namespace

int send_for_ever(const ClientSettings& settings, Board& board) {
  const Holdings before = Holdings::of_process();
  Client(settings, board).run();
  if (settings.sabotage == Sabotage::kDescriptor)
    static_cast<void>(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::string left = Holdings::of_process().beyond(before);
  if (!left.empty()) throw tools::Failure(std::string(kNames[settings.kind]) + ": left behind: " + left);
  return 0;
}

}  // namespace service_check
