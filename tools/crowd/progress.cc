// SPDX-License-Identifier: BSD-2-Clause
#include "tools/crowd/progress.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "tools/common/clock.h"
#include "tools/common/units.h"

namespace crowd {
namespace {

constexpr int kExitInterrupted = 130;
constexpr std::uint64_t kSilentNs = 500'000'000;
constexpr std::uint64_t kPeriodNs = 200'000'000;
constexpr const char* kClearLine = "\r\033[K";

// The main thread writes it, and the handler reads it in any thread. A text does not change while the handler may read it: the next one
// goes into the other buffer.
using Text = std::array<char, 96>;
std::array<Text, 2> texts{Text{"starting"}, Text{}};
std::atomic<const char*> doing_now = texts[0].data();
std::atomic<bool> line_is_there = false;
static_assert(std::atomic<const char*>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void write_text(const char* text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
}

}  // namespace

// Calls async-signal-safe functions only.
void end_as_interrupted() {
  if (line_is_there) write_text(kClearLine);
  write_text("exs-crowd: interrupted in ");
  write_text(doing_now);
  write_text("\n");
  _exit(kExitInterrupted);
}

void end_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { end_as_interrupted(); };
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

Progress::Progress() : on_terminal_(isatty(STDERR_FILENO) == 1), next_ns_(exs::monotonic_ns() + kSilentNs) {}

Progress::~Progress() {
  if (line_is_there.exchange(false)) write_text(kClearLine);
}

void Progress::begin(const std::string& doing, std::uint64_t goal) {
  doing_ = doing;
  goal_ = goal;
  Text& next = texts[doing_now == texts[0].data() ? 1 : 0];
  std::snprintf(next.data(), next.size(), "%s", doing.c_str());
  doing_now = next.data();
}

void Progress::print(std::uint64_t done, std::uint64_t at_ns) {
  next_ns_ = at_ns + kPeriodNs;
  line_is_there = true;
  const auto text = [](std::uint64_t count) { return tools::format_count(static_cast<double>(count)); };
  write_text(
      tools::format("\r%s: %s of %s\033[K", doing_.c_str(), text(done).c_str(), text(goal_).c_str()).c_str());
}

}  // namespace crowd
