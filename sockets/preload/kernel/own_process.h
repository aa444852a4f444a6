// This process, as opposed to a child of vfork that borrows its memory, and to a process that the layer has left.
// Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace exs::sockets {

// A child of vfork shares our memory, but not our numbers, so it must change nothing here. Also true after
// retire(). Asks the kernel only while such a child may exist.
bool is_vfork_child() noexcept;
// Other processes that share our memory for any time are about to be made.
void note_shared_memory() noexcept;
// Detects forks that the layer does not see. Before this call, each check asks the kernel.
void watch_for_forks() noexcept;
void retire_process() noexcept;
bool is_retired() noexcept;
// The process is a new one, with its own memory.
void remember_process() noexcept;

}  // namespace exs::sockets
