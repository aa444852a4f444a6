/* Lookups without reference counts, and the removal of what they find.
 *
 * Models: ReadSection's constructor, leave, make_visible; ReaderList::wait_for_all (base/read_section.h, read_section.cc).
 *   membarrier(2) empties the store buffer of the reader's processor at a moment between its call and its return.
 * Bounds: one remover, two readers with two sections each, one of them nested; one object. A store waits in a buffer of two places, and
 *   others see it later, in order. A thread sees its own stores at once.
 * Properties: no reader uses the object after the remover has destroyed it (assertion), and the remover is not kept for ever by a reader
 *   that has left (invalid end states).
 * Broken on purpose:
 *   NO_BARRIER       the remover does not call membarrier
 *   LOOKS_FIRST      the remover looks at the counters before it makes the object impossible to find
 *   INNER_LEAVES     the end of the inner section counts as that of the outer one
 */
#define READERS 2
#define SECTIONS 2

bool found = true;              /* the object can be found */
bool alive = true;
byte turns[READERS];            /* as others see them */
chan buffer[READERS] = [2] of { byte };  /* stores of turns that others do not see yet */

active [READERS] proctype reader() {
  byte me = _pid, mine = 0, n = 0, before = 0;
  bool has, nested;
  do
  :: n < SECTIONS ->
    n++;
    mine++;
    buffer[me]!mine;            /* a plain store */
    has = found;
    if
    :: has ->
      assert(alive);
      nested = false;
      if :: nested = true :: skip fi;
      if
      :: nested ->
        /* a section of a signal handler, which does nothing to the counter */
#ifdef INNER_LEAVES
        mine++;
        buffer[me]!mine
#endif
        skip
      :: else
      fi;
      assert(alive)
    :: else
    fi;
#ifdef INNER_LEAVES
    if :: mine % 2 == 1 -> mine++; buffer[me]!mine :: else fi
#else
    mine++;
    buffer[me]!mine             /* a release store */
#endif
  :: else -> break
  od
}

/* The processors' store buffers. */
active [READERS] proctype lands() {
  byte value, me = _pid - READERS;
end_lands:
  do
  :: atomic { nempty(buffer[me]) -> buffer[me]?value; turns[me] = value; value = 0 }
  od
}

inline wait_for_all() {
  n = 0;
  do
  :: n < READERS ->
    turn = turns[n];
    if
    :: turn % 2 == 1 -> turns[n] != turn
    :: else
    fi;
    n++
  :: else -> break
  od
}

active proctype remover() {
  byte n = 0, turn = 0;
#ifdef LOOKS_FIRST
  empty(buffer[0]);
  empty(buffer[1]);
  wait_for_all();
  found = false;
#else
  found = false;
#ifndef NO_BARRIER
  empty(buffer[0]);
  empty(buffer[1]);
#endif
  wait_for_all();
#endif
  alive = false
}
