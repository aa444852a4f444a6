// Where an endpoint listens, as fi_info says it: "host:port" in numbers, a text that ends with 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace exs::fabric {

// Wherever suits: exm_open(3) chooses.
inline constexpr char kAnySource[] = "*:0";

// Of what fi_getinfo was asked with FI_SOURCE, and perhaps FI_NUMERICHOST; one of the two may be null. None: that is no address.
std::optional<std::string> source_of(const char* node, const char* service, std::uint64_t flags);

// Of an address that an application gives back, or of a sockaddr_in or sockaddr_in6. None: it is neither.
std::optional<std::string> read_source(const void* address, std::size_t bytes);

}  // namespace exs::fabric
