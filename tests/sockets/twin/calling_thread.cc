// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sockets/twin/calling_thread.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "tests/sockets/twin/call.h"
#include "tests/sockets/twin/signals.h"

namespace twin {
namespace {

constexpr useconds_t kPauseUs = 100;
constexpr int kSleepPauses = 500;
constexpr int kInterruptPauses = 20000;
constexpr int kSignalAgainPauses = 50;

}  // namespace

void* CallingThread::run(void* argument) {
  const std::unique_ptr<std::shared_ptr<Work>> holder(static_cast<std::shared_ptr<Work>*>(argument));
  Work& work = **holder;
  work.thread_id.store(gettid());
  work.answer = perform(work.command);
  work.ended.store(true);
  return nullptr;
}

// The third word of its stat is the state, behind a name in parentheses.
bool CallingThread::is_asleep() const {
  const int id = work_->thread_id.load();
  if (id == 0) return false;
  const std::string path = "/proc/self/task/" + std::to_string(id) + "/stat";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  std::array<char, 128> text = {};
  const ssize_t length = read(fd, text.data(), text.size() - 1);
  close(fd);
  const char* const name_end = length > 0 ? std::strrchr(text.data(), ')') : nullptr;
  return name_end != nullptr && name_end[1] == ' ' && name_end[2] == 'S';
}

Answer CallingThread::start(const Command& command) {
  work_ = std::make_shared<Work>();
  work_->command = command;
  work_->command.op = command.inner;
  work_->restart = command.restart != 0;
  set_restart(work_->restart);
  auto holder = std::make_unique<std::shared_ptr<Work>>(work_);
  errno = pthread_create(&thread_, nullptr, run, holder.get());
  if (errno != 0) return answer_of(-1);
  static_cast<void>(holder.release());  // the thread owns it
  for (int i = 0; i < kSleepPauses && !work_->ended.load() && !is_asleep(); ++i) usleep(kPauseUs);
  return answer_of(1);
}

Answer CallingThread::pending() const {
  return answer_of(work_ != nullptr && !work_->ended.load() ? 1 : 0);
}

Answer CallingThread::interrupt() {
  if (work_ == nullptr) return answer_of(0);
  const std::uint32_t before = user_signals();
  for (int i = 0; i < kInterruptPauses; ++i) {
    const bool is_over = user_signals() != before && (work_->restart || work_->ended.load());
    if (is_over) break;
    // A signal just before the sleep is lost, so it is sent again.
    if (i % kSignalAgainPauses == 0 && !work_->ended.load()) pthread_kill(thread_, SIGUSR1);
    usleep(kPauseUs);
  }
  return answer_of(user_signals() != before ? 1 : 0);
}

Answer CallingThread::join(int timeout_ms) {
  if (work_ == nullptr) return answer_of(0);
  const int pauses = timeout_ms * 1000 / static_cast<int>(kPauseUs);
  for (int i = 0; i < pauses && !work_->ended.load(); ++i) usleep(kPauseUs);
  if (!work_->ended.load()) {
    pthread_detach(thread_);
    Answer hung;
    hung.error = kHung;
    return hung;
  }
  pthread_join(thread_, nullptr);
  const Answer answer = work_->answer;
  work_.reset();
  return answer;
}

}  // namespace twin
