// exs.hpp - exs for C++20: objects that release their resources, spans, and operations to co_await. A thin
// header-only layer over exs.h. The manual page of the C function of the same name describes an operation;
// exs-cpp(7) is the overview of this layer.
//
// Constructors and set-up calls throw std::system_error. Whatever else may fail while a program runs does not throw: it
// gives an Outcome, or a type that derives from it, and so does each co_await. True means success.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_HPP
#define EXS_HPP

#if __cplusplus < 202002L
#error "exs/exs.hpp needs C++20: compile with -std=c++20 or later, or include exs/exs.h"
#else

#include <exs/cpp/arrivals.hpp>
#include <exs/cpp/async_socket.hpp>
#include <exs/cpp/awaiting.hpp>
#include <exs/cpp/both.hpp>
#include <exs/cpp/descriptors.hpp>
#include <exs/cpp/error.hpp>
#include <exs/cpp/loop.hpp>
#include <exs/cpp/objects.hpp>
#include <exs/cpp/operation_set.hpp>
#include <exs/cpp/peer_memory.hpp>
#include <exs/cpp/peer_snapshot.hpp>
#include <exs/cpp/receive_pool.hpp>
#include <exs/cpp/shared_memory.hpp>
#include <exs/cpp/slot_choice.hpp>
#include <exs/cpp/socket.hpp>
#include <exs/cpp/task.hpp>
#include <exs/cpp/timers.hpp>

#endif  // C++20

#endif  // EXS_HPP
