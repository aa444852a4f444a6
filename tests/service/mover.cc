// A service in a process of its own that moves when it is told to, to another such process, and may be killed at any time. It writes
// what it gets and what becomes of it to the standard output (mover.h), and answers requests with all that they have. The standard
// input has orders: m, move; d and a byte, die when the node has taken so many turns.
//   service-mover KEY-FILE open|adopt
// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <vector>

#include "exs/service.h"
#include "tests/service/mover.h"

namespace {

using exs::svc::test::Entry;
using exs::svc::test::Happened;

class Mover {
 public:
  Mover(exs_svc_key_t* key, exs_svc_node_t* node) : key_(key), node_(node) {}

  bool open() {
    service_ = exs_svc_open(node_, key_, nullptr, nullptr);
    executed_ = 0;
    is_here_ = service_ != nullptr;
    return say(is_here_ ? Happened::kOpened : Happened::kRefused, 0);
  }
  bool adopt() {
    is_here_ = false;
    service_ = exs_svc_adopt(node_, key_, nullptr, nullptr);
    return say(service_ != nullptr ? Happened::kWaiting : Happened::kRefused, 0);
  }
  // What the standard input says, and what the node has.
  bool step() {
    std::array<pollfd, 2> ready{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{exs_svc_node_fd(node_), POLLIN, 0}};
    if (::poll(ready.data(), ready.size(), -1) < 0) return false;
    if (ready[0].revents != 0 && !take_order()) return false;
    std::array<exs_svc_event_t, 16> events;
    const int count = exs_svc_wait(node_, events.data(), static_cast<int>(events.size()), 0);
    if (turns_left_ > 0 && --turns_left_ == 0) ::kill(::getpid(), SIGKILL);
    for (int i = 0; i < count; ++i)
      if (!take(events[static_cast<std::size_t>(i)])) return false;
    return true;
  }

 private:
  static bool say(Happened what, std::uint32_t value) { return say(static_cast<std::uint32_t>(what), value); }
  static bool say(std::uint32_t number, std::uint32_t value) {
    const Entry entry{number, value};
    return ::write(STDOUT_FILENO, &entry, sizeof entry) == sizeof entry;
  }
  bool take_order() {
    char order = 0;
    if (::read(STDIN_FILENO, &order, 1) != 1) return false;
    if (order == 'd') return ::read(STDIN_FILENO, &turns_left_, 1) == 1;
    if (!is_here_) return true;
    exs_svc_move_options_t options{};
    options.struct_bytes = sizeof options;
    options.state = &state_;
    options.state_count = 1;
    return exs_svc_move(service_, &options, nullptr) == 0;
  }
  bool take(const exs_svc_event_t& event) {
    switch (event.type) {
      case EXS_SVC_EVT_SENT:
        exs_svc_release(static_cast<const exs_svc_message_t*>(event.handle));
        return true;
      case EXS_SVC_EVT_MOVED: return moved(event.error);
      case EXS_SVC_EVT_ADOPTED: return adopted(*event.message);
      case EXS_SVC_EVT_REQUEST: return execute(*event.message);
      default: return true;
    }
  }
  bool moved(int error) {
    if (error == EOWNERDEAD) {  // what it had there is lost
      exs_svc_close(service_);
      return say(Happened::kUnknown, 0) && open();
    }
    if (error != 0) return say(Happened::kStayed, static_cast<std::uint32_t>(error));
    exs_svc_close(service_);
    return say(Happened::kMoved, 0) && adopt();
  }
  bool adopted(const exs_svc_message_t& message) {
    std::memcpy(&executed_, message.longs[0].data, sizeof executed_);
    exs_svc_release(&message);
    is_here_ = true;
    return say(Happened::kAdopted, executed_);
  }
  bool execute(const exs_svc_message_t& message) {
    std::uint32_t number = 0;
    std::memcpy(&number, message.items[0].data, sizeof number);
    if (!say(number, ++executed_)) return false;
    std::vector<exs_iovec_t> longs;
    for (std::uint32_t i = 0; i < message.longs_count; ++i)
      longs.push_back({message.longs[i].data, message.longs[i].length, EXS_MHANDLE_UNREGISTERED, 0});
    const int result =
        exs_svc_reply(&message, 0, message.items, static_cast<int>(message.items_count), longs.data(),
                      static_cast<int>(longs.size()), 0, const_cast<exs_svc_message_t*>(&message));
    // Its long items are the reply's until that has been taken.
    if (result != 0 || longs.empty()) exs_svc_release(&message);
    return true;
  }

  exs_svc_key_t* const key_;
  exs_svc_node_t* const node_;
  exs_svc_t* service_ = nullptr;
  bool is_here_ = false;
  std::uint8_t turns_left_ = 0;  // 0: it lives
  std::uint32_t executed_ = 0;   // which moves along
  const exs_iovec_t state_{&executed_, sizeof executed_, EXS_MHANDLE_UNREGISTERED, 0};
};

}  // namespace

int main(int argc, char** argv) {
  exs_svc_key_t* const key = argc == 3 ? exs_svc_key_load(argv[1]) : nullptr;
  exs_svc_node_t* const node = key == nullptr ? nullptr : exs_svc_node_open(nullptr);
  if (node == nullptr) {
    std::fprintf(stderr, "service-mover: %s\n", exs_svc_errtext());
    return 1;
  }
  Mover mover(key, node);
  const bool is_begun = std::strcmp(argv[2], "open") == 0 ? mover.open() : mover.adopt();
  while (is_begun && mover.step()) continue;
  return 0;
}
