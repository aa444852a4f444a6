// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/json.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace tools {
namespace {

using Document = nlohmann::ordered_json;

Document document_of(const Json& json);

struct Convert {
  Document operator()(const Json::Array& array) const {
    Document out = Document::array();
    for (const Json& value : array) out.push_back(document_of(value));
    return out;
  }
  Document operator()(const Json::Object& object) const {
    Document out = Document::object();
    for (const auto& [key, value] : object) out[key] = document_of(value);
    return out;
  }
  template <typename Scalar>
  Document operator()(const Scalar& scalar) const {
    return scalar;
  }
};

Document document_of(const Json& json) {
  return std::visit(Convert(), json.value());
}

}  // namespace

void print_json(const Json& value) {
  std::puts(document_of(value).dump(2).c_str());
}

void print_json_line(const Json& value) {
  std::puts(document_of(value).dump().c_str());
  std::fflush(stdout);
}

void print_one_or_array(Json::Array results) {
  print_json(results.size() == 1 ? std::move(results.front()) : Json(std::move(results)));
}

}  // namespace tools
