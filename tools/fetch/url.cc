// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fetch/url.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "tools/common/failure.h"

namespace fetch {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr std::string_view kService = "exs-svc://";

void set_host_and_port(Url& url, std::string_view where, const std::string& text) {
  const std::size_t colon = where.rfind(':');
  if (colon != std::string_view::npos && where.find(']', colon) == std::string_view::npos) {
    const std::string_view digits = where.substr(colon + 1);
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), url.port);
    if (error != std::errc() || stop != digits.data() + digits.size())
      throw tools::UsageError("a URL without a port that is a number: " + text);
    where = where.substr(0, colon);
  }
  if (where.starts_with('[') && where.ends_with(']')) where = where.substr(1, where.size() - 2);
  if (where.empty()) throw tools::UsageError("a URL without a host: " + text);
  url.host = where;
}

}  // namespace

std::string Url::server() const {
  return std::string(service.empty() ? kHttp : kService) + authority();
}

std::string Url::text() const {
  return server() + path;
}

std::string Url::authority() const {
  if (!service.empty()) return service;
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return name + ":" + std::to_string(port);
}

Url parse_url(const std::string& text) {
  std::string_view rest = text;
  const bool is_service = rest.starts_with(kService);
  if (is_service || rest.starts_with(kHttp)) rest.remove_prefix((is_service ? kService : kHttp).size());
  if (rest.find("://") != std::string_view::npos)
    throw tools::UsageError(text + ": only http:// and exs-svc:// are known here");
  if (std::any_of(rest.begin(), rest.end(), [](char letter) { return letter <= ' ' || letter > '~'; }))
    throw tools::UsageError("a URL with letters that do not belong there: " + text);
  Url url;
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  url.path = slash == rest.size() ? "/" : std::string(rest.substr(slash));
  const std::string_view where = rest.substr(0, slash);
  if (!is_service) {
    set_host_and_port(url, where, text);
    return url;
  }
  if (where.empty()) throw tools::UsageError("a URL without a service: " + text);
  url.service = where;
  return url;
}

}  // namespace fetch
