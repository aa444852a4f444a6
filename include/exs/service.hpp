// Services for C++20: messages to a name instead of a place, on a Loop. A thin header-only layer over service.h; exs-service-cpp(7) is the
// overview. Everything is in the namespace exs::cpp.
//
// Constructors and set-up calls throw std::system_error, with the words of exs_svc_errtext(). Each co_await gives an Outcome, or a type
// that derives from it, and does not throw.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_SERVICE_HPP
#define EXS_SERVICE_HPP

#if __cplusplus < 202002L
#error "exs/service.hpp needs C++20: compile with -std=c++20 or later, or include exs/service.h"
#else

#include <exs/cpp/service_calls.hpp>
#include <exs/cpp/service_items.hpp>
#include <exs/cpp/service_message.hpp>
#include <exs/cpp/service_names.hpp>
#include <exs/cpp/service_node.hpp>
#include <exs/cpp/service_peer.hpp>
#include <exs/cpp/service_requests.hpp>
#include <exs/cpp/service_served.hpp>
#include <exs/cpp/service_state.hpp>
#include <exs/cpp/service_waits.hpp>
#include <exs/exs.hpp>

#endif  // C++20

#endif  // EXS_SERVICE_HPP
