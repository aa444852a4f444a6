// exs.hpp - exs for C++20: objects that clean up after themselves, spans, and operations to co_await. A thin
// layer over exs.h, all of it in headers; what an operation means is told by the manual page of the C
// function of the same name, and exs-cpp(7) is the overview of this layer.
//
// Constructors and set-up calls throw std::system_error; transfers, and all that may fail while a program
// runs, return a std::error_code or a Result and do not throw.
#ifndef EXS_HPP
#define EXS_HPP

#include <exs/cpp/async_socket.hpp>
#include <exs/cpp/both.hpp>
#include <exs/cpp/error.hpp>
#include <exs/cpp/loop.hpp>
#include <exs/cpp/objects.hpp>
#include <exs/cpp/socket.hpp>
#include <exs/cpp/task.hpp>

#endif  // EXS_HPP
