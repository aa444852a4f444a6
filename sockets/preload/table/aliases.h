// Numbers that another program gets under another number, although they are closed at exec. A child of vfork,
// with numbers of its own, has duplicated them, or actions of posix_spawn() may. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace exs::sockets {

// `alias` is the duplicate, or the number itself where the duplicate is unknown.
void note_alias(int number, int alias) noexcept;
// -1: it has no alias.
[[nodiscard]] int alias_of(int number) noexcept;
// The number has a new meaning.
void forget_alias(int number) noexcept;

}  // namespace exs::sockets
