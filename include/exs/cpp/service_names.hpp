// Keys, IDs and capabilities of services.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_SERVICE_NAMES_HPP
#define EXS_CPP_SERVICE_NAMES_HPP

#include <exs/service.h>
#include <exs/cpp/error.hpp>

#include <algorithm>
#include <chrono>
#include <compare>
#include <iterator>
#include <memory>
#include <string>

namespace exs::cpp {
namespace detail {

// For set-up calls: throws the error in errno, with the words of exs_svc_errtext().
[[noreturn]] inline void throw_service_error() {
  throw std::system_error(error_of(errno), exs_svc_errtext());
}
inline void check_service(int result) {
  if (result == -1) throw_service_error();
}

}  // namespace detail

// The name of a service, which follows from its key.
class ServiceId {
 public:
  explicit ServiceId(const exs_svc_id_t& id) noexcept : id_(id) {}
  // "exs:" and 32 digits. Throws std::system_error: EINVAL.
  explicit ServiceId(const std::string& text) { detail::check_service(exs_svc_id_parse(text.c_str(), &id_)); }
  // In a file of names; without one, that of EXS_SERVICES, or /etc/exs/services. The text of an ID is a name, too. Throws
  // std::system_error: ENOENT, and the others of exs_svc_find.
  [[nodiscard]] static ServiceId find(const std::string& name, const char* names = nullptr) {
    exs_svc_id_t id{};
    detail::check_service(exs_svc_find(names, name.c_str(), &id));
    return ServiceId(id);
  }

  [[nodiscard]] const exs_svc_id_t& get() const noexcept { return id_; }
  [[nodiscard]] std::string text() const {
    char text[EXS_SVC_ID_TEXT] = "";
    exs_svc_id_text(&id_, text);
    return text;
  }
  // Where the service is, if a process of this host has the name; it blocks at most for the limit. Throws std::system_error: ENOENT,
  // ETIMEDOUT, and the others of exs_svc_locate.
  [[nodiscard]] exs_svc_place_t locate(std::chrono::nanoseconds limit) const {
    exs_svc_place_t place{};
    place.struct_bytes = sizeof place;
    detail::check_service(exs_svc_locate(&id_, limit.count(), &place));
    return place;
  }
  bool operator==(const ServiceId& other) const noexcept {
    return std::equal(std::begin(id_.bytes), std::end(id_.bytes), std::begin(other.id_.bytes));
  }
  std::strong_ordering operator<=>(const ServiceId& other) const noexcept {
    return std::lexicographical_compare_three_way(std::begin(id_.bytes), std::end(id_.bytes),
                                                  std::begin(other.id_.bytes), std::end(other.id_.bytes));
  }

 private:
  exs_svc_id_t id_{};
};

// The right to be a service. The destructor wipes it; services that were opened with it stay open.
class ServiceKey {
 public:
  // A new one, of a new service.
  ServiceKey() : ServiceKey(exs_svc_key_create()) {}
  [[nodiscard]] static ServiceKey load(const std::string& path) {
    return ServiceKey(exs_svc_key_load(path.c_str()));
  }
  // The key in this file. If there is no file, a new key, which is stored there.
  [[nodiscard]] static ServiceKey load_or_create(const std::string& path) {
    exs_svc_key_t* const loaded = exs_svc_key_load(path.c_str());
    if (loaded != nullptr || errno != ENOENT) return ServiceKey(loaded);
    ServiceKey created;
    created.store(path);
    return created;
  }
  // Into a new file, which only its owner can read.
  void store(const std::string& path) const {
    detail::check_service(exs_svc_key_store(handle_.get(), path.c_str()));
  }

  [[nodiscard]] const exs_svc_key_t* handle() const noexcept { return handle_.get(); }
  [[nodiscard]] ServiceId id() const {
    exs_svc_id_t id{};
    detail::check_service(exs_svc_key_id(handle_.get(), &id));
    return ServiceId(id);
  }

 private:
  explicit ServiceKey(exs_svc_key_t* handle) : handle_(handle) {
    if (handle == nullptr) detail::throw_service_error();
  }
  struct Free {
    void operator()(exs_svc_key_t* key) const noexcept { exs_svc_key_free(key); }
  };
  std::unique_ptr<exs_svc_key_t, Free> handle_;
};

// The right to use a service that does not serve all who know its ID. Keep it secret.
class ServiceCapability {
 public:
  // Made by the owner of the service. `rights`: EXS_SVC_SEND and others; `expires_ms`: since 1970, 0: never.
  explicit ServiceCapability(const ServiceKey& key, std::uint32_t rights = EXS_SVC_ALL,
                             std::uint32_t serial = 0, std::int64_t expires_ms = 0) {
    detail::check_service(exs_svc_cap_make(key.handle(), rights, serial, expires_ms, &capability_));
  }
  // "exs-cap:" and 128 digits. Throws std::system_error: EINVAL.
  explicit ServiceCapability(const std::string& text) {
    detail::check_service(exs_svc_cap_parse(text.c_str(), &capability_));
  }

  [[nodiscard]] const exs_svc_cap_t& get() const noexcept { return capability_; }
  [[nodiscard]] ServiceId id() const noexcept { return ServiceId(capability_.id); }
  [[nodiscard]] std::string text() const {
    char text[EXS_SVC_CAP_TEXT] = "";
    exs_svc_cap_text(&capability_, text);
    return text;
  }

 private:
  exs_svc_cap_t capability_{};
};

}  // namespace exs::cpp

#endif  // EXS_CPP_SERVICE_NAMES_HPP
