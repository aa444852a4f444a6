/* The drive lock of a shard with its bias, its queue of commands, and who carries them out.
 *
 * Models: BiasedLock::lock, try_lock, unlock (base/biased_lock.h); Bias::enter, leave, withdraw, grant (base/bias.h);
 *   CommandQueue::push, take, waiting (event/engine/command_queue.h);
 *   Shard::post, submit, run_commands, release_and_combine (event/engine/shard.cc).
 *   The futex is left out: drive_lock.pml has it.
 * Bounds: two posters with POSTS posts each, either of which may earn the bias whenever it unlocks, and a thread that takes the lock by
 *   lock() once. The plain stores of an owner wait in a store buffer of two places, as on x86; locked instructions empty it.
 * Properties: one thread at a time holds the lock; at the end no command is left; no thread waits for ever (assertions, no invalid end
 *   states).
 * Broken on purpose:
 *   NO_BARRIER       the bias is withdrawn without a barrier in all threads
 *   LOOKS_FIRST      the owner looks whether it is the owner before it says that it is inside
 *   NO_AWAIT         lock() does not wait for an owner that is inside
 *   SAYS_HELD        who tries to withdraw the bias makes the lock look held, and does not look for commands if that fails
 *   NO_SECOND_LOOK   an owner does not look for commands after its turn
 *   ONE_WORD         the word is the lock's, so a former owner that still tries to enter writes what is another one's by now
 *   FORGETS          a withdrawal that failed does not keep in mind who is inside
 */
#define POSTS 2
#define POSTERS 2

#define FREE 0
#define HELD 1
#define BIASED 2
#define WITHDRAWING 3
#define NOBODY 255

byte state = FREE;
byte owner = NOBODY;
byte leaving = NOBODY;     /* Bias::place_: of the owner, or of a former one that was inside */
bool inside[POSTERS];      /* each thread's own word, in memory */
chan buffer[POSTERS] = [2] of { bool };

byte holding = 0;
byte queued = 0, carried_out = 0, done = 0;
bool waiting = false;

#ifdef ONE_WORD
#define WORD(thread) 0
#else
#define WORD(thread) thread
#endif

inline hold() { holding++; assert(holding == 1) }
inline barrier() {
#ifndef NO_BARRIER
  empty(buffer[0]);
  empty(buffer[1])
#else
  skip
#endif
}

/* entered: the thread is the owner, and inside. */
inline enter(me, entered) {
  entered = false;
  if
  :: owner == me ->
#ifdef LOOKS_FIRST
    entered = owner == me;
    buffer[me]!true;
#else
    buffer[me]!true;
    entered = owner == me;
#endif
    if :: !entered -> buffer[me]!false :: else fi
  :: else
  fi
}

/* Each access of the word is a locked instruction, before which the thread's own stores land. */
/* is_out: nobody is inside, and nobody enters. */
inline withdraw(is_out) {
  owner = NOBODY;
  barrier();
  is_out = true;
  if
  :: leaving != NOBODY -> is_out = !inside[WORD(leaving)]
  :: else
  fi;
#ifdef FORGETS
  leaving = NOBODY
#else
  if :: is_out -> leaving = NOBODY :: else fi
#endif
}

inline try_lock(me, got) {
  enter(me, by_bias);
  got = by_bias;
  do
  :: got -> break
  :: else ->
    empty(buffer[me]);
    atomic {
      was = state;
      if
      :: was == FREE -> state = HELD
      :: was == BIASED ->
#ifdef SAYS_HELD
        state = HELD
#else
        state = WITHDRAWING
#endif
      :: else
      fi
    };
    if
    :: was == FREE -> got = true
    :: was == HELD -> break
    :: was == WITHDRAWING -> (state != WITHDRAWING)
    :: was == BIASED ->
      withdraw(is_out);
      if
      :: !is_out -> state = BIASED; break
      :: else -> state = HELD; got = true
      fi
    fi
  od;
  if :: got -> hold() :: else fi
}

inline unlock(me) {
  holding--;
  if
  :: by_bias -> buffer[me]!false
  :: else ->
    empty(buffer[me]);
    if
    :: state = FREE
    :: leaving = me; owner = me; state = BIASED
    fi
  fi
}

inline run_commands() {
  do
  :: waiting -> atomic { carried_out = carried_out + queued; queued = 0; waiting = false }
  :: else -> break
  od
}

inline release_and_combine(me) {
  do
  :: true ->
    unlock(me);
#ifdef NO_SECOND_LOOK
    if :: by_bias -> break :: else fi;
#endif
    got = false;
    if :: waiting -> try_lock(me, got) :: else fi;
    if :: !got -> break :: else fi;
    run_commands()
  od
}

active proctype memory() {
  bool value;
end_memory:
  do
  :: atomic { nempty(buffer[0]) -> buffer[0]?value; inside[0] = value; value = false }
  :: atomic { nempty(buffer[1]) -> buffer[1]?value; inside[WORD(1)] = value; value = false }
  od
}

active [POSTERS] proctype poster() {
  byte was = 0, n = 0;
  byte me = _pid - 1;
  bool got, by_bias, is_out;
  do
  :: n < POSTS ->
    n++;
    try_lock(me, got);
    if
    :: got -> run_commands(); carried_out++; release_and_combine(me)
    :: else ->
      empty(buffer[me]);
      atomic { queued++; waiting = true };
      try_lock(me, got);
      if :: got -> run_commands(); release_and_combine(me) :: else fi
    fi
  :: else -> break
  od;
  done++
}

/* A leader about to sleep: it waits for the lock, and never owns it. */
active proctype leader() {
  byte was;
  bool is_out;
  do
  :: atomic { was = state; if :: was == FREE || was == BIASED -> state = HELD :: else fi };
    if
    :: was == FREE -> break
    :: was == BIASED ->
      withdraw(is_out);
#ifndef NO_AWAIT
      if :: !is_out -> !inside[WORD(leaving)] ; leaving = NOBODY :: else fi;
#endif
      break
    :: else -> (state == FREE || state == BIASED)
    fi
  od;
  hold();
  run_commands();
  holding--;
  state = FREE;
  /* Its second look is that of any holder. */
  do
  :: waiting ->
    atomic { was = state; if :: was == FREE || was == BIASED -> state = HELD :: else fi };
    if
    :: was == HELD -> break
    :: was == WITHDRAWING -> (state != WITHDRAWING)
    :: was == FREE -> hold(); run_commands(); holding--; state = FREE
    :: was == BIASED ->
      withdraw(is_out);
      if :: !is_out -> !inside[WORD(leaving)] ; leaving = NOBODY :: else fi;
      hold(); run_commands(); holding--; state = FREE
    fi
  :: else -> break
  od;
  done++
}

active proctype end() {
  (done == POSTERS + 1);
  assert(queued == 0 && carried_out == POSTERS * POSTS && holding == 0)
}
