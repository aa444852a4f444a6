/* <sys/exs.h> - where programs written for the Extended Sockets API look for it. */
#ifndef SYS_EXS_H
#define SYS_EXS_H

#include "exs/exs.h"

#endif /* SYS_EXS_H */
