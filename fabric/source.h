// Where an endpoint listens, in the form of fi_info: "host:port" in numbers, a text that ends with 0.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace exs::fabric {

// Lets exm_open(3) choose.
inline constexpr char kAnySource[] = "*:0";

// Converts the arguments of fi_getinfo with FI_SOURCE, and perhaps FI_NUMERICHOST; one of the two may be NULL. Returns nothing if they
// are no address.
std::optional<std::string> source_of(const char* node, const char* service, std::uint64_t flags);

// Converts an address that an application gives back, or a sockaddr_in or sockaddr_in6. Returns nothing if it is neither.
std::optional<std::string> read_source(const void* address, std::size_t bytes);

}  // namespace exs::fabric
