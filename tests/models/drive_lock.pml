/* The drive lock of a shard, its queue of commands, and who carries them out.
 *
 * Models: BiasedLock::lock, try_lock, unlock (base/biased_lock.h) without a bias, with the futex of std::atomic::wait and notify_one;
 *   CommandQueue::push, take, waiting (event/engine/command_queue.h);
 *   Shard::submit, run_commands, release_and_combine (event/engine/shard.cc).
 * Bounds: two posters, POSTS commands each, one thread that takes the lock by lock() (a leader about to sleep), a number of times.
 *   Memory is sequentially consistent: every access here is, or is a read-modify-write.
 * Properties: one thread at a time drives; no thread sleeps for ever; at the end no command is left (assertions, no invalid end states).
 * Broken on purpose:
 *   NO_SECOND_LOOK    release_and_combine() unlocks and does not look again
 *   NO_AWAITED        unlock() does not see that a thread sleeps
 *   CLEARS_LATE       take() clears `waiting` after it has given up the leaf lock
 */
#define POSTS 2
#define POSTERS 2
#define LOCKS 2

#define FREE 0
#define HELD 1
#define AWAITED 2

byte state = FREE;      /* DriveLock::state_ */
byte driving = 0;       /* threads between lock and unlock */
byte leaf = 0;          /* CommandQueue::mutex_ */
byte queued = 0;        /* commands */
bool waiting = false;   /* CommandQueue::waiting_ */
byte carried_out = 0;
byte done = 0;          /* threads that are through */
byte asleep = 0;        /* threads in the futex */
byte wakes = 0;         /* notify_one() that a sleeper has not seen */

inline leaf_lock() { atomic { leaf == 0 -> leaf = 1 } }
inline leaf_unlock() { leaf = 0 }

inline enter() { driving++; assert(driving == 1) }

inline try_lock(got) {
  atomic { if :: state == FREE -> state = HELD; got = true :: else -> got = false fi }
  if :: got -> enter() :: else fi
}

inline futex_wait() {
  /* Atomic: it sleeps only if the word is as expected. */
  atomic {
    if
    :: state == AWAITED -> asleep++
    :: else -> goto looked
    fi
  };
  atomic { wakes > 0 -> wakes--; asleep-- };
looked: skip
}

inline unlock() {
  driving--;
  atomic { was = state; state = FREE };
#ifdef NO_AWAITED
  skip
#else
  if
  :: was == AWAITED -> atomic { if :: asleep > wakes -> wakes++ :: else fi }
  :: else
  fi
#endif
}

inline run_commands() {
  do
  :: waiting ->
    leaf_lock();
    taken = queued; queued = 0;
#ifdef CLEARS_LATE
    leaf_unlock();
    waiting = false;
#else
    waiting = false;
    leaf_unlock();
#endif
    carried_out = carried_out + taken
  :: else -> break
  od
}

inline release_and_combine() {
  do
  :: true ->
    unlock();
#ifdef NO_SECOND_LOOK
    break;
#else
    more = false;
    if :: waiting -> try_lock(more) :: else fi;
    if :: !more -> break :: else fi;
    run_commands()
#endif
  od
}

active [POSTERS] proctype poster() {
  byte was = 0, taken = 0, n = 0;
  bool more, got;
  do
  :: n < POSTS ->
    n++;
    leaf_lock();
    queued++;
    waiting = true;
    leaf_unlock();
    try_lock(got);
    if
    :: got -> run_commands(); release_and_combine()
    :: else
    fi
  :: else -> break
  od;
  done++
}

active proctype leader() {
  byte was = 0, taken = 0, n = 0, held = HELD;
  bool more, got;
  do
  :: n < LOCKS ->
    n++;
    atomic { if :: state == FREE -> state = HELD; was = FREE :: else -> was = HELD fi };
    if
    :: was == FREE -> skip
    :: else ->
      held = HELD;
      do
      :: true ->
        was = state;
        if
        :: was == FREE ->
          atomic { if :: state == FREE -> state = held; got = true :: else -> got = false fi };
          if :: got -> break :: else fi
        :: else ->
          if
          :: was == HELD -> atomic { if :: state == HELD -> state = AWAITED :: else fi }
          :: else
          fi;
          futex_wait();
          held = AWAITED        /* others may sleep as well */
        fi
      od
    fi;
    enter();
    release_and_combine()
  :: else -> break
  od;
  done++
}

/* Once all threads are through, all commands have been carried out. */
active proctype end() {
  (done == POSTERS + 1);
  assert(queued == 0 && carried_out == POSTERS * POSTS && state == FREE)
}
