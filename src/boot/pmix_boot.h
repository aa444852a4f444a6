// The boot of a process that was started by what speaks PMIx: mpirun of Open MPI, srun --mpi=pmix of Slurm. Its client library,
// libpmix.so.2, is opened at run time; where it was not here at build time there is no such boot.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "src/boot/boot.h"

namespace exs::boot {

// See find_boot(). The environment stays as it is.
Result<std::unique_ptr<Boot>> find_pmix();

}  // namespace exs::boot
