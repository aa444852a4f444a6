// What a program file is, as far as it decides whether libexs_sockets.so can serve it. Used inside programs that know nothing of
// the layer, too: no allocation, no exceptions. The file's bytes may be anything.
#pragma once

namespace exs::sockets {

enum class Unserved {
  kNot,           // it can be served
  kMissing,       // there is no such file
  kNotReadable,   // nobody but its owner can tell
  kNotAProgram,   // neither ELF nor a script, or a damaged one
  kStatic,        // it loads no libraries
  kOtherMachine,  // of another processor, or of 32 bits
  kOtherLibc,     // of another C library
  kGo,            // its runtime calls the kernel itself
  kGivesRights,   // setuid, setgid or capabilities: the dynamic linker ignores LD_PRELOAD
  kSanitized,     // its sanitizer's library has to be the first of all
  kIoUring,       // it needs liburing; what goes through io_uring does not go through the layer
};

// Of a script: its interpreter. Thread: any.
Unserved examine_program(const char* path) noexcept;

}  // namespace exs::sockets
