/* A shard that its usual thread owns without a lock: the plan of the lean path. It is in no code yet; this model comes before it.
 *
 * Models: enter, own, leave and lock as the plan has them: one plain store makes a thread both inside a read section and the owner of its
 *   shard; any other thread takes the lock, withdraws the ownership, has a barrier executed (membarrier), and waits for the section.
 * Bounds: an owner with two steps, a poster with one step under the lock, a remover that takes an object away and destroys it.
 *   The lock holder may give the ownership to a thread; here the owner may win it back under the lock. Stores wait in store buffers of two
 *   places, as on x86. A thread sees its own stores at once.
 * Properties: one thread at a time is in the shard; no thread uses the object once it is destroyed (assertions); none waits for ever.
 * Broken on purpose:
 *   NO_BARRIER       the lock is taken without a barrier
 *   LOOKS_FIRST      the owner looks whether it owns the shard before it says that it is inside
 *   KEEPS_OWNER      the lock is taken without withdrawing the ownership
 *   NO_WAIT          the lock is taken without waiting for the owner's section
 *   REMOVER_IN_HASTE the remover does not wait for sections
 *   REMOVER_SPARES_LOCK  the remover waits for sections alone, and a poster is in none while it holds the lock: one of the two must give way
 *   WAITS_INSIDE     a thread that finds another owner waits for the lock inside its section, as the remover does with the lock held
 */
#define NOBODY 0
#define OWNER 1

bool found = true, alive = true;  /* the object */
byte lock = 0;
byte owner = OWNER;               /* written under the lock alone */
bool inside[2];                   /* turns is odd, as others see it: of the owner and of the poster */
byte in_shard = 0;
chan buffer[2] = [2] of { bool };

inline drain() { empty(buffer[0]); empty(buffer[1]) }
inline enter(me) { buffer[me]!true }
inline leave(me) { buffer[me]!false }
inline use_shard() { in_shard++; assert(in_shard == 1); if :: found -> assert(alive) :: else fi; in_shard-- }
inline acquire() { atomic { lock == 0 -> lock = 1 } }

/* Afterwards the shard is ours: the lock is held, and nobody owns it. Call it outside of a section. */
inline take_shard() {
  acquire();
  if
  :: owner != NOBODY ->
#ifndef KEEPS_OWNER
    owner = NOBODY;             /* visible: the lock's instruction, and the barrier, come after */
#endif
#ifndef NO_BARRIER
    drain();
#endif
#ifndef NO_WAIT
    !inside[0];
#endif
    skip
  :: else
  fi
}

/* The store buffers land. */
active proctype memory() {
  bool value;
end_memory:
  do
  :: atomic { nempty(buffer[0]) -> buffer[0]?value; inside[0] = value; value = false }
  :: atomic { nempty(buffer[1]) -> buffer[1]?value; inside[1] = value; value = false }
  od
}

active proctype owning() {
  byte n = 0;
  bool owns;
  do
  :: n < 3 ->
    n++;
#ifdef LOOKS_FIRST
    owns = owner == OWNER;
    enter(0);
#else
    enter(0);
    owns = owner == OWNER;
#endif
    if
    :: owns ->
      use_shard();
      leave(0)
    :: else ->
#ifdef WAITS_INSIDE
      acquire();
#else
      leave(0);
      empty(buffer[0]);         /* the locked instruction that takes the lock */
      acquire();
#endif
      /* Nobody owns it any more, so the lock is all it takes; and it is ours again. */
      if :: owner != NOBODY -> assert(owner == OWNER) :: else fi;
      if
      :: owner == NOBODY -> use_shard(); if :: owner = OWNER :: skip fi
      :: else
      fi;
      lock = 0
#ifdef WAITS_INSIDE
      ; leave(0)
#endif
    fi
  :: else -> break
  od
}

active proctype poster() {
  byte n = 0;
  do
  :: n < 2 ->
    n++;
    take_shard();
    use_shard();
    lock = 0
  :: else -> break
  od
}

active proctype remover() {
  found = false;
#ifdef WAITS_INSIDE
  acquire();                    /* a remover that has to do something in the shard as well */
#endif
  drain();
#ifndef REMOVER_IN_HASTE
  !inside[0];
  !inside[1];
#endif
  /* A poster uses the shard under the lock, outside of any section, and finds objects there. */
#ifndef REMOVER_SPARES_LOCK
#ifndef WAITS_INSIDE
  acquire();
#endif
  lock = 0;
#endif
  alive = false
}
