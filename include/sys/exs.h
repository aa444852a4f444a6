/* <sys/exs.h> - where programs written for the Extended Sockets API look for it. */
/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SYS_EXS_H
#define SYS_EXS_H

#include "exs/exs.h"

#endif /* SYS_EXS_H */
