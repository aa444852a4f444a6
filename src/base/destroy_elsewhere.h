// Destroys objects whose destruction may take long.
#pragma once

#include <pthread.h>

#include <csignal>
#include <exception>
#include <thread>
#include <utility>

namespace exs {

// Destroys it on a separate thread, which takes no signals and for which no thread waits. If there is no
// thread, it destroys the object here.
template <typename Owner>
void destroy_elsewhere(Owner owner) noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited by the thread
  try {
    std::thread([doomed = std::move(owner)]() mutable { const Owner gone = std::move(doomed); }).detach();
  } catch (const std::exception&) {  // no thread, or no memory for one
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace exs
