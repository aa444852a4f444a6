/* Extended Sockets programs include <sys/exs.h>; the interface itself is in <exs/exs.h>. */
#include <exs/exs.h>
