// Where an endpoint listens, as fi_info says it: "host:port", a text that ends with 0.
#pragma once

#include <string>
#include <string_view>

namespace exs::fabric {

// Empty: wherever suits.
inline std::string source_of(const char* node, const char* service) {
  if (node == nullptr && service == nullptr) return {};
  const std::string_view host = node == nullptr ? "127.0.0.1" : node;
  const std::string_view port = service == nullptr ? "0" : service;
  const bool is_v6 = host.find(':') != std::string_view::npos;
  return (is_v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + std::string(port);
}

}  // namespace exs::fabric
