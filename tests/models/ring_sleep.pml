/* The two ends of a ring in shared memory: records, the sleep of the reader, and the writer's wish for room.
 *
 * Models: RingWriter::write, must_wake_reader, ask_for_room; RingReader::peek, pop, settle, fall_asleep, wake_up, say_that_it_polls (src/provider/shm/ring.cc);
 *   ChannelTraffic::process_records, arm, disarm, flush and Channel::wake_peer (channel_traffic.cc, channel.h).
 *   Each end is a port of another process, and sleeps on its doorbell alone.
 * Bounds: RECORDS records through a ring of two slots; a wish for room is one slot. Stores wait in a store buffer of two places, as on
 *   x86: others see them later, in order; a read-modify-write empties the buffer of its thread before, and so does a system
 *   call that rings a bell. (Loads that are done early, as
 *   on weaker machines, are left to the acquire and release orders of the code.)
 * Properties: all records arrive, in order; neither end sleeps for ever (invalid end states, assertions).
 * Broken on purpose:
 *   PLAIN_LOOK      must_wake_reader() is a plain load and a plain store
 *   NO_BARRIER      a reader that has said that it polls sleeps without a barrier in the writer
 *   NO_SECOND_LOOK  the reader does not look again once it has said that it sleeps
 *   PLAIN_SLEEP     fall_asleep() stores its word and loads the wish plainly (on x86 either read-modify-write would do)
 *   PLAIN_WISH      ask_for_room() stores the wish plainly
 *   QUIET_BELL      the reader's bell is seen before what it has consumed
 */
#define RECORDS 4
#define SLOTS 2

/* The words in memory. A thread's own stores may still be in its buffer: at most one of each word matters to the other end. */
byte lap;               /* records that the reader can see (the lap words of the slots) */
bool asleep;            /* kAsleepOffset */
byte consumed;          /* kConsumedOffset */
byte wanted;            /* kWantedOffset: 0, or how far the reader must have come for room */
bool polls;             /* kPollsOffset: the reader polls, and has a barrier executed in the writer before it sleeps */
bool bell[2];           /* the doorbells: 0 the writer's, 1 the reader's */

/* Store buffers: words and values. */
#define LAP 1
#define ASLEEP 2
#define CONSUMED 3
#define WANTED 4
#define POLLS 5
chan buffer0 = [2] of { byte, byte };
chan buffer1 = [2] of { byte, byte };

inline land(word, value) {
  if
  :: word == LAP -> lap = value
  :: word == ASLEEP -> asleep = value
  :: word == CONSUMED -> consumed = value
  :: word == WANTED -> wanted = value
  :: word == POLLS -> polls = value
  fi
}

active proctype memory() {
  byte word, value;
end_memory:
  do
  :: atomic { nempty(buffer0) -> buffer0?word,value; land(word, value); word = 0; value = 0 }
  :: atomic { nempty(buffer1) -> buffer1?word,value; land(word, value); word = 0; value = 0 }
  od
}

active proctype writer() {
  byte written = 0, seen = 0;
  bool was, fits;
  do
  :: written < RECORDS ->
    seen = consumed;
    if
    :: written - seen < SLOTS ->
      written++;
      buffer0!LAP,written;
#ifdef PLAIN_LOOK
      was = asleep;
      if :: was -> buffer0!ASLEEP,0 :: else fi;
#else
      was = true;
      if :: polls -> was = asleep :: else fi;
      if :: was -> atomic { empty(buffer0) -> was = asleep; asleep = false } :: else fi;
#endif
      if :: was -> atomic { empty(buffer0) -> bell[1] = true } :: else fi
    :: else ->
#ifdef PLAIN_WISH
      buffer0!WANTED,written - SLOTS + 1;
#else
      atomic { empty(buffer0) -> wanted = written - SLOTS + 1 };
#endif
      seen = consumed;
      fits = written - seen < SLOTS;
      if
      :: !fits -> bell[0]; bell[0] = false
      :: else
      fi
    fi
  :: else -> break
  od
}

inline publish() {
  if :: published != read -> published = read; buffer1!CONSUMED,read :: else fi
}
inline answer(wish) {
  if :: wish > answered && wish <= published -> answered = wish;
#ifdef QUIET_BELL
     bell[0] = true
#else
     atomic { empty(buffer1) -> bell[0] = true }
#endif
  :: else fi
}

active proctype reader() {
  byte read = 0, published = 0, answered = 0, wish = 0;
  bool sleeps = false, says_polls = false;
  do
  :: read < RECORDS ->
    /* process_records() */
    do
    :: lap > read ->
      read++;
      if :: !says_polls -> says_polls = true; buffer1!POLLS,1 :: skip fi
    :: else -> break
    od;
    publish();
    wish = wanted;
    answer(wish);
    wish = 0;
    if
    :: read == RECORDS
    :: else ->
      /* arm() */
      publish();
#ifdef PLAIN_SLEEP
      buffer1!ASLEEP,1;
      wish = wanted;
#else
      atomic { empty(buffer1) -> asleep = true };
      if
      :: says_polls ->
        says_polls = false;
        buffer1!POLLS,0;
#ifdef NO_BARRIER
        skip
#else
        empty(buffer1);
        empty(buffer0)
#endif
      :: else
      fi;
      atomic { empty(buffer1) -> wish = wanted };
#endif
      answer(wish);
      wish = 0;
#ifdef NO_SECOND_LOOK
      sleeps = true;
#else
      sleeps = lap == read;
#endif
      if :: sleeps -> bell[1]; bell[1] = false :: else fi;
      /* disarm() */
      atomic { empty(buffer1) -> asleep = false }
    fi
  :: else -> break
  od;
  assert(lap == RECORDS)
}
