// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/table/shared_lock.h"

#include <cerrno>

namespace exs::sockets {

void SharedLock::make() noexcept {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

bool SharedLock::is_taken(int error) noexcept {
  if (error == EOWNERDEAD) {
    owner_died = true;
    pthread_mutex_consistent(&mutex);
  }
  return error == 0 || error == EOWNERDEAD;
}

bool SharedLock::acquire() noexcept {
  return is_taken(pthread_mutex_lock(&mutex));
}

bool SharedLock::try_acquire() noexcept {
  return is_taken(pthread_mutex_trylock(&mutex));
}

SlotLock::SlotLock(SharedLock& shared) noexcept EXS_NO_THREAD_SAFETY_ANALYSIS : lock_(shared) {
  held_ = lock_.acquire();
}

SlotLock::SlotLock(SharedLock& shared, std::try_to_lock_t) noexcept EXS_NO_THREAD_SAFETY_ANALYSIS
    : lock_(shared) {
  held_ = lock_.try_acquire();
}

void SlotLock::lock() noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  held_ = lock_.acquire();
}

}  // namespace exs::sockets
