// What exs-rpcgen writes in C. Thread: any.
#pragma once

#include <string>

#include "rpc/generator/c_names.h"
#include "rpc/generator/model.h"

namespace exs::generator {

// NAME_exs.h: types, stubs, and what a server defines.
std::string c_header(const Interface& interface, const Spelling& spelling);
// NAME_exs.c: tables of types and procedures, and stubs; for both ends.
std::string c_source(const Interface& interface, const Spelling& spelling);
// NAME_exs.hpp: a class for each version, whose calls are awaited or waited for.
std::string cpp_header(const Interface& interface, const Spelling& spelling);
// NAME_exs_serve.c: from requests to the server's procedures.
std::string c_service(const Interface& interface, const Spelling& spelling);

// --- parts of them ---

std::string c_types(const Interface& interface);
std::string c_tables(const Interface& interface, const Spelling& spelling);

// The parameters of a procedure, each with its type: "const name *argument, ", and their names: "argument, ".
std::string c_parameters(const Procedure& procedure);
std::string c_parameter_names(const Procedure& procedure);
// Those that are results: "answer *result, ".
std::string c_results(const Procedure& procedure);

}  // namespace exs::generator
