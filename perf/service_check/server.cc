// SPDX-License-Identifier: BSD-2-Clause
#include "perf/service_check/server.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "perf/service_check/words.h"
#include "tools/common/clock.h"
#include "tools/common/failure.h"

namespace service_check {
namespace {

constexpr std::uint32_t kSabotaged = 50;  // messages of a life before the one with the fault
constexpr auto kSlow = std::chrono::milliseconds(1500);

class Server {
 public:
  Server(const ServerSettings& settings, Board& board, Ledger& ledger)
      : sabotage_(settings.sabotage), board_(board), ledger_(ledger), life_(board.life) {}

  void take(const exs_svc_event_t& event) {
    if (event.type != EXS_SVC_EVT_MESSAGE && event.type != EXS_SVC_EVT_REQUEST) return;
    const exs_svc_message_t& message = *event.message;
    const Ask ask = read_item<Ask>(message);
    if (ask.kind >= kKinds) throw tools::Failure("a message of nobody");
    const Kind kind{ask.kind};
    if (kind == kLongs && !is_pattern(message, ask.number))
      throw tools::Failure("a long item of other bytes");
    write(kind, ask.number);
    if (!is_answered(kind)) board_.note_first(kind, life_, exs::monotonic_ns());
    if (event.type == EXS_SVC_EVT_REQUEST) answer(message, ask.number);
    exs_svc_release(&message);
  }

 private:
  void write(Kind kind, Number number) {
    ++taken_;
    const bool is_bad = taken_ >= kSabotaged && kind == kRequests && !was_bad_;
    was_bad_ = was_bad_ || is_bad;
    if (is_bad && sabotage_ == Sabotage::kUnwritten) return;
    if (is_bad && sabotage_ == Sabotage::kTwice) append({kind, number});
    if (is_bad && sabotage_ == Sabotage::kOrder) append({kind, number + 1});
    append({kind, number});
  }
  void append(Ledger::Entry entry) {
    if (!ledger_.append(entry)) throw tools::Failure("the ledger is full: shorter lives");
  }
  void answer(const exs_svc_message_t& message, Number number) {
    if (sabotage_ == Sabotage::kSilent && taken_ == kSabotaged) {
      kept_ = true;
      return;
    }
    Answer answer{number, life_};
    const exs_svc_item_t item{&answer, sizeof answer};
    exs_svc_reply(&message, 0, &item, 1, nullptr, 0, 0, nullptr);
  }

  const Sabotage sabotage_;
  Board& board_;
  Ledger& ledger_;
  const std::uint32_t life_;
  std::uint32_t taken_ = 0;
  bool was_bad_ = false;
  bool kept_ = false;
};

}  // namespace

void serve(const exs_svc_key_t* key, const ServerSettings& settings, Board& board, Ledger& ledger) {
  Server server(settings, board, ledger);
  exs_svc_node_options_t options{};
  options.struct_bytes = sizeof options;
  options.listen = settings.listen.empty() ? nullptr : settings.listen.c_str();
  exs_svc_node_t* const node = exs_svc_node_open(&options);
  if (node == nullptr) fail("cannot open a node");
  board.opens_ns = exs::monotonic_ns();
  if (settings.sabotage == Sabotage::kSlow) std::this_thread::sleep_for(kSlow);
  if (exs_svc_open(node, key, nullptr, nullptr) == nullptr) fail("cannot open the service");
  for (;;) {
    std::array<exs_svc_event_t, 16> events;
    const int count = exs_svc_wait(node, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) server.take(events[static_cast<std::size_t>(i)]);
  }
}

}  // namespace service_check
