// Numbers that another program gets by another name, although they are closed at exec: a child of vfork, whose numbers are not this
// process's, has duplicated them, or actions of posix_spawn() may. Thread: any.
#pragma once

namespace exs::sockets {

// `alias` is the duplicate; for who does not know it, the number itself.
void note_alias(int number, int alias) noexcept;
// -1: it has none.
[[nodiscard]] int alias_of(int number) noexcept;
// The number means something else from now on.
void forget_alias(int number) noexcept;

}  // namespace exs::sockets
