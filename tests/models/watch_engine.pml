/* The engine behind one waiting thread: parked, standing by, or watching the ports itself.
 *
 * Models: as watch.pml, which it includes, and the engine that stands by while a thread drives.
 * Bounds: one thread that waits twice, the engine, and a peer that sends two events and then a request which any thread may serve.
 * Properties: as watch.pml; and the request is served, though no thread waits any more (invalid end states).
 * Broken on purpose:
 *   LEADER_LOOKS_FIRST    the leader that leaves looks whether the engine is parked before it says that it has left
 *   ENGINE_LOOKS_FIRST    the engine looks whether a thread leads before it says that it is parked, and not again
 *   FLAG_FIRST            the engine clears alarm_set_ before the alarm
 *   NO_SECOND_LOOK        a thread does not look again once it has armed the port
 */
#define WAITERS 1
#define WAITS 2
#define STANDS_BY
#include "watch.pml"
