// Results for programs: JSON, built from plain values. This is the only header of ours that includes nlohmann's JSON.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tools {

class Json {
 public:
  using Array = std::vector<Json>;
  // A vector, so keys keep their order.
  using Object = std::vector<std::pair<std::string, Json>>;
  using Value =
      std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object>;

  Json(std::nullptr_t = nullptr) {}
  Json(bool value) : value_(value) {}
  Json(double value) : value_(value) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}
  template <std::integral Integer>
  Json(Integer value) : value_(widened(value)) {}
  // An empty optional is null.
  template <typename T>
  Json(const std::optional<T>& value) : Json(value ? Json(*value) : Json(nullptr)) {}

  [[nodiscard]] const Value& value() const { return value_; }

 private:
  template <std::integral Integer>
  static auto widened(Integer value) {
    if constexpr (std::is_signed_v<Integer>) {
      return static_cast<std::int64_t>(value);
    } else {
      return static_cast<std::uint64_t>(value);
    }
  }

  Value value_ = nullptr;
};

// Returns an array with a value for each element.
template <typename Range>
Json::Array array_of(const Range& range) {
  Json::Array array;
  for (const auto& value : range) array.emplace_back(value);
  return array;
}

// Prints indented, with a newline at the end.
void print_json(const Json& value);
// Prints one line and flushes it.
void print_json_line(const Json& value);
// Prints one result alone, and several as an array.
void print_one_or_array(Json::Array results);

}  // namespace tools
