// The functions of exs/service.h for keys, IDs and capabilities.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <cstring>
#include <new>

#include "exs/service.h"
#include "service/api/calls.h"
#include "service/names/capability.h"
#include "service/names/names_file.h"

struct exs_svc_key {
  exs::svc::Key key;
};

namespace exs::svc {

const Key& key_of(const exs_svc_key* key) {
  return key->key;
}

}  // namespace exs::svc

using exs::svc::guarded;
using exs::svc::refuse;

exs_svc_key_t* exs_svc_key_create() {
  return guarded<exs_svc_key_t*>(nullptr, [] { return new exs_svc_key{}; });
}

int exs_svc_key_store(const exs_svc_key_t* key, const char* path) {
  if (key == nullptr || path == nullptr) return refuse(EINVAL, "exs_svc_key_store: no key, or no path");
  return guarded(-1, [&] {
    const int error = exs::svc::KeyFile::store(key->key, path);
    return error == 0 ? 0 : refuse(error, "exs_svc_key_store: %s: %s", path, std::strerror(error));
  });
}

exs_svc_key_t* exs_svc_key_load(const char* path) {
  if (path == nullptr) {
    refuse(EINVAL, "exs_svc_key_load: no path");
    return nullptr;
  }
  return guarded<exs_svc_key_t*>(nullptr, [&]() -> exs_svc_key_t* {
    std::optional<exs::svc::Key> key;
    const int error = exs::svc::KeyFile::load(path, key);
    if (error == 0) return new exs_svc_key{*key};
    const char* const why = error == EACCES   ? "it is not this user's, or others may read it: chmod 600"
                            : error == EPROTO ? "it is no key"
                                              : std::strerror(error);
    refuse(error, "exs_svc_key_load: %s: %s", path, why);
    return nullptr;
  });
}

void exs_svc_key_free(exs_svc_key_t* key) {
  delete key;
}

int exs_svc_key_id(const exs_svc_key_t* key, exs_svc_id_t* id) {
  if (key == nullptr || id == nullptr) return refuse(EINVAL, "exs_svc_key_id: no key, or no room for its ID");
  const exs::svc::IdBytes bytes = key->key.id();
  std::copy(bytes.begin(), bytes.end(), id->bytes);
  return 0;
}

int exs_svc_id_text(const exs_svc_id_t* id, char* text) {
  if (id == nullptr || text == nullptr)
    return refuse(EINVAL, "exs_svc_id_text: no ID, or no room for its text");
  return guarded(-1, [&] {
    const std::string written = exs::svc::text_of(exs::svc::bytes_of(*id));
    std::memcpy(text, written.c_str(), written.size() + 1);
    return 0;
  });
}

int exs_svc_id_parse(const char* text, exs_svc_id_t* id) {
  const auto parsed = text == nullptr || id == nullptr ? std::nullopt : exs::svc::parse_id(text);
  if (!parsed) return refuse(EINVAL, "exs_svc_id_parse: an ID is \"exs:\" and 32 digits of 0-9 and a-f");
  std::copy(parsed->begin(), parsed->end(), id->bytes);
  return 0;
}

int exs_svc_find(const char* names, const char* name, exs_svc_id_t* id) {
  if (name == nullptr || id == nullptr) return refuse(EINVAL, "exs_svc_find: no name, or no room for its ID");
  return guarded(-1, [&] {
    const std::string path = names == nullptr ? exs::svc::NamesFile::default_path() : names;
    std::optional<exs::svc::IdBytes> found = exs::svc::parse_id(name);
    if (!found) found = exs::svc::NamesFile(path).id_of(name);
    if (!found) return refuse(ENOENT, "exs_svc_find: %s has no line for %s", path.c_str(), name);
    std::copy(found->begin(), found->end(), id->bytes);
    return 0;
  });
}

int exs_svc_cap_make(const exs_svc_key_t* key, uint32_t rights, uint32_t serial, int64_t expires_ms,
                     exs_svc_cap_t* cap) {
  if (key == nullptr || cap == nullptr || expires_ms < 0 || rights == 0 || (rights & ~EXS_SVC_ALL) != 0)
    return refuse(EINVAL, "exs_svc_cap_make: no key, no room, or rights that are none");
  exs::svc::to_public(exs::svc::make_capability(key->key, rights, serial, expires_ms), *cap);
  return 0;
}

int exs_svc_cap_text(const exs_svc_cap_t* cap, char* text) {
  if (cap == nullptr || text == nullptr)
    return refuse(EINVAL, "exs_svc_cap_text: no capability, or no room for its text");
  return guarded(-1, [&] {
    const std::string written = exs::svc::text_of(exs::svc::from_public(*cap));
    std::memcpy(text, written.c_str(), written.size() + 1);
    return 0;
  });
}

int exs_svc_cap_parse(const char* text, exs_svc_cap_t* cap) {
  const auto parsed = text == nullptr || cap == nullptr ? std::nullopt : exs::svc::parse_capability(text);
  if (!parsed)
    return refuse(EINVAL, "exs_svc_cap_parse: a capability is \"exs-cap:\" and 128 digits of 0-9 and a-f");
  exs::svc::to_public(*parsed, *cap);
  return 0;
}
