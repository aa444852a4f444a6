// Decides from a program's file whether libexs_sockets.so can serve it. Code inside foreign programs uses
// this, too: no allocation, no exceptions. The file's bytes may be anything.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace exs::sockets {

enum class Unserved {
  kNot,           // the library can serve it
  kMissing,       // there is no such file
  kNotReadable,   // only its owner can tell
  kNotAProgram,   // neither ELF nor a script, or a damaged one
  kStatic,        // it loads no libraries
  kOtherMachine,  // for another processor, or for 32 bits
  kOtherLibc,     // for another C library
  kGo,            // its runtime calls the kernel itself
  kGivesRights,   // setuid, setgid or capabilities: the dynamic linker ignores LD_PRELOAD
  kSanitized,     // its sanitizer's library must be loaded first
  kIoUring,       // it needs liburing; the layer does not see what io_uring does
};

// A script is judged by its interpreter. Thread: any.
Unserved examine_program(const char* path) noexcept;

}  // namespace exs::sockets
