/* Which thread watches a shard's ports: a leader and its followers, and the engine behind them.
 *
 * Models: Watch (event/engine/watch.h); Engine::run, park, stand_by, watch_ports, leader_left, clear_alarm (event/engine/engine.cc);
 *   Shard::drive, begin_sleep, keep_armed, sleep_as_leader, stop_leading, drive_before_sleep (event/engine/shard.cc);
 *   Wait::lead, follow (event/queue/wait.cc); a port that must be armed before a sleep (Port::arm, provider.h) and its peer.
 *   An alarm that is set goes off some time, or not any more once it is cleared: the engine wakes for nothing less often than it may.
 *   Queues are locked by leaf locks, so what they do is one step here.
 * Bounds: two waiting threads with a queue each, the engine, and a peer that sends each queue one event. The engine does not stand by:
 *   watch_engine.pml has that. Sequentially consistent, as the flags are.
 * Properties: every thread that waits gets its event: none sleeps for ever while its event has come, or lies in the port
 *   (invalid end states); one thread at a time drives (assertion).
 *   In what order a follower and a leader that leaves look at each other's flags decides how soon the engine watches, not whether.
 *   With LATE_FOLLOWERS, either order reversed, this model holds as well, because a parked engine has its alarm.
 * Broken on purpose:
 *   NO_SECOND_LOOK        a thread does not look again once it has armed the port
 *   KEEPS_DISARMED        a thread that drives while others sleep does not arm again
 */
#ifdef STANDS_BY
#define STAND_BY true
#else
#define STAND_BY false
#endif
#ifndef WAITERS
#define WAITERS 2
#define WAITS 1           /* of each */
#endif

byte lock = 0;          /* the drive lock */
bool led, parked, standing_by, alarm_set;
byte followers, sleepers;
bool driven;            /* Watch::waiter_drives_ has changed since the engine looked */
bool alarm_rang;                             /* the alarm's descriptor is readable, or will be */
bool wake_pending, wake_fd;
bool armed;                                  /* PortSet::armed_, under the drive lock */
bool asleep, bell;                           /* the port: its peer rings; its descriptor is readable */
byte pending[WAITERS];                       /* events in the port, for each queue */
bool request;                                /* a READ of the peer is in the port, which any thread serves */
byte events[WAITERS];                        /* in the queues */
bool leads_asleep[WAITERS], follows_asleep[WAITERS], queue_fd[WAITERS];

#if WAITERS == 2
#define ANY_PENDING (request || pending[0] + pending[1] > 0)
#else
#define ANY_PENDING (request || pending[0] > 0)
#endif

inline set_alarm() { alarm_rang = true }
inline ring_alarm() { set_alarm() }

inline wake_leader() {
  atomic { if :: !wake_pending -> wake_pending = true; wake_fd = true :: else fi }
}

/* EventQueue: the event is there, and who sleeps for it is woken. */
inline push(q) {
    events[q]++;
    if :: leads_asleep[q] -> if :: !wake_pending -> wake_pending = true; wake_fd = true :: else fi
       :: else fi;
    if :: follows_asleep[q] -> queue_fd[q] = true :: else fi
}

/* Takes in what has arrived. */
inline poll_all() {
  bell = false;
  atomic {
    if :: pending[0] > 0 -> pending[0]--; push(0) :: else fi;
#if WAITERS == 2
    if :: pending[1] > 0 -> pending[1]--; push(1) :: else fi;
#endif
    request = false
  }
}

/* quiet: nothing has arrived since the port was polled. */
inline arm() {
  d_step { armed = true; asleep = true };
#ifdef NO_SECOND_LOOK
  quiet = true
#else
  quiet = !ANY_PENDING
#endif
}

inline keep_armed() {
  if
  :: sleepers == 0 -> d_step { armed = false; asleep = false }
  :: else ->
#ifdef KEEPS_DISARMED
    armed = false;
    asleep = false
#else
    if
    :: armed ->
      arm();
      if
      :: quiet
      :: else ->
        poll_all();
        arm();
        if :: quiet :: else -> if :: led -> wake_leader() :: else fi; ring_alarm() fi
      fi
    :: else
    fi
#endif
  fi
}

inline acquire() { atomic { lock == 0 -> lock++ }; assert(lock == 1) }
inline release() { lock-- }

inline drive() {
  atomic { if :: lock == 0 -> lock++; got = true :: else -> got = false fi };
  if
  :: got ->
#ifdef STANDS_BY
    driven = true;
#endif
    poll_all();
    keep_armed();
    release()
  :: else
  fi
}

inline stop_leading() {
#ifdef LATE_FOLLOWERS
  has_followers = followers > 0;
  led = false;
#else
#ifdef LEADER_LOOKS_FIRST
  was_parked = parked;
#endif
  led = false;
  has_followers = followers > 0;
#endif
  if
  :: has_followers -> ring_alarm()
  :: else ->
#ifndef LEADER_LOOKS_FIRST
    was_parked = parked;
#endif
    if
    :: was_parked ->
      atomic { was_set = alarm_set; alarm_set = true };
      if :: !was_set -> set_alarm() :: else fi
    :: else
    fi
  fi
}

active [WAITERS] proctype waiter() {
  byte q = _pid, waits = 0;
  bool got, quiet, is_leader, has_followers, was_parked, was_set, sleeps;
  do
  :: events[q] > 0 -> events[q]--; waits++; if :: waits == WAITS -> break :: else fi
  :: else ->
    drive();
    if :: events[q] > 0 -> goto taken :: else fi;
    atomic { is_leader = !led; led = true };
    if
    :: is_leader ->
      do
      :: true ->
        atomic { sleeps = events[q] == 0; leads_asleep[q] = sleeps };
        if :: !sleeps -> break :: else fi;
        acquire();
        arm();
        if
        :: quiet -> d_step { sleepers++; release() }; atomic { (bell || wake_fd) -> sleepers-- };
           if :: wake_fd -> d_step { wake_fd = false; wake_pending = false } :: else fi
        :: else -> poll_all(); release()
        fi;
        leads_asleep[q] = false;
        drive();
        if :: events[q] > 0 -> break :: else fi
      od;
      stop_leading()
    :: else ->
#ifdef LATE_FOLLOWERS
      sleeps = led;
      followers++;
#else
      followers++;
      sleeps = led;
#endif
      if
      :: sleeps ->
        atomic { sleeps = events[q] == 0; follows_asleep[q] = sleeps };
        if :: sleeps -> atomic { queue_fd[q] -> queue_fd[q] = false; follows_asleep[q] = false } :: else fi
      :: else
      fi;
      followers--
    fi;
taken: skip
  od
}

inline clear_alarm() {
#ifdef FLAG_FIRST
  alarm_set = false;
  alarm_rang = false
#else
  alarm_rang = false;
  alarm_set = false
#endif
}

active proctype engine() {
  bool quiet, sleeps;
  do
  :: true ->
    if
    :: led ->
#ifdef ENGINE_LOOKS_FIRST
      sleeps = led;
      parked = true;
#else
      parked = true;
      sleeps = led;
#endif
      if
      :: sleeps ->
end_parked: alarm_rang
      :: else
      fi;
      parked = false;
      clear_alarm()
    :: else ->
      if
#ifdef STANDS_BY
      :: driven ->
        set_alarm();
        standing_by = true;
end_stands_by: alarm_rang;
        standing_by = false;
        clear_alarm();
        driven = false
#endif
      :: !driven || !STAND_BY ->
        acquire();
        poll_all();
        keep_armed();
        arm();
        if
        :: quiet ->
          d_step { sleepers++; release() };
end_watches: atomic { (bell || alarm_rang) -> sleepers-- };
          if :: alarm_rang -> clear_alarm() :: else fi
        :: else -> release()
        fi
      fi
    fi
  od
}

inline ring_if_asleep() {
  atomic { rings = asleep; asleep = false };  /* the exchange of the sleeper's word */
  if :: rings -> bell = true :: else fi
}

active proctype peer() {
  bool rings;
  byte n = 0;
  do
  :: n < WAITERS * WAITS ->
    pending[n % WAITERS]++;
    ring_if_asleep();
    n++
  :: else -> break
  od;
#ifdef STANDS_BY
  request = true;
  ring_if_asleep();
  !request                      /* the answer: some thread has looked */
#endif
}
