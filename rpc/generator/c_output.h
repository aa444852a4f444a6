// The C and C++ files that exs-rpcgen writes. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "rpc/generator/c_names.h"
#include "rpc/generator/model.h"

namespace exs::generator {

// NAME_exs.h: types, stubs, and the functions that a server defines.
std::string c_header(const IdlInterface& interface, const Spelling& spelling);
// NAME_exs.c: tables of types and procedures, and stubs; for both ends.
std::string c_source(const IdlInterface& interface, const Spelling& spelling);
// NAME_exs.hpp: a class for each version, whose calls block or are awaited.
std::string cpp_header(const IdlInterface& interface, const Spelling& spelling);
// NAME_exs_serve.c: calls the server's procedures for requests.
std::string c_service(const IdlInterface& interface, const Spelling& spelling);

// --- parts of them ---

std::string c_types(const IdlInterface& interface);
std::string c_tables(const IdlInterface& interface, const Spelling& spelling);

// Returns the parameters of a procedure, each with its type: "const name *argument, ", or their names: "argument, ".
std::string c_parameters(const Procedure& procedure);
std::string c_parameter_names(const Procedure& procedure);
// Returns the parameters for results: "answer *result, ".
std::string c_results(const Procedure& procedure);

}  // namespace exs::generator
