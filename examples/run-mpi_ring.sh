#!/usr/bin/env bash
# mpi_ring.py over exs, by Debian's Open MPI, which finds exs as a provider of libfabric.
#   run-mpi_ring.sh [FOLDER OF libexs-fi.so]
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
here=$(dirname "$0")
export FI_PROVIDER_PATH=${1:-$here/../build/release/lib/libfabric} FI_PROVIDER=exs EXM_ADDRESS=127.0.0.1
export OMPI_MCA_pml=cm OMPI_MCA_mtl=ofi OMPI_MCA_mtl_ofi_provider_include=exs
as_root=()
if ((EUID == 0)); then as_root=(--allow-run-as-root); fi
said=$(timeout 100 mpirun "${as_root[@]}" --oversubscribe -n 4 /usr/bin/python3 -m mpi4py "$here/mpi_ring.py")
echo "$said"
[[ $said == "4 ranks; the number is 4, the sum 10" ]]
