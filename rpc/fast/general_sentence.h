// What exs_rpc_errtext() says of errors that have no sentence of their own. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string_view>

namespace exs::rpc {

// "": there is no such sentence.
const char* general_sentence(std::string_view function, int error) noexcept;

}  // namespace exs::rpc
