// The functions of exs/service.h for keys, IDs and capabilities.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <cstring>

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

using exs::c_call;
using exs::failure;
using exs::refuse;
using exs::refuse_in_words;
using exs::Result;
using exs::Status;

namespace {

// An error of the file at `path`, which is named.
Status error_of_file(const char* function, const char* path, Status why) {
  const char* const general = exs::svc::general_sentence(function, why.error());
  return refuse_in_words(why.error(), {path, ": ", *general != '\0' ? general : std::strerror(why.error())});
}

}  // namespace

exs_svc_key_t* exs_svc_key_create() {
  // cppcheck-suppress CastIntegerToAddressAtReturn; it returns no integer
  return c_call<exs_svc_key_t*>(nullptr, []() -> Result<exs_svc_key_t*> { return new exs_svc_key{}; });
}

int exs_svc_key_store(const exs_svc_key_t* key, const char* path) {
  return c_call([&]() -> Status {
    if (key == nullptr || path == nullptr) return refuse(EINVAL, "no key, or no path");
    const Status stored = exs::svc::KeyFile::store(key->key, path);
    return stored.ok() ? stored : error_of_file("exs_svc_key_store", path, stored);
  });
}

exs_svc_key_t* exs_svc_key_load(const char* path) {
  // cppcheck-suppress CastIntegerToAddressAtReturn; it returns no integer
  return c_call<exs_svc_key_t*>(nullptr, [&]() -> Result<exs_svc_key_t*> {
    if (path == nullptr) return failure(refuse(EINVAL, "no path"));
    const Result<exs::svc::Key> key = exs::svc::KeyFile::load(path);
    if (!key) return failure(error_of_file("exs_svc_key_load", path, key.error()));
    return new exs_svc_key{*key};
  });
}

void exs_svc_key_free(exs_svc_key_t* key) {
  delete key;
}

int exs_svc_key_id(const exs_svc_key_t* key, exs_svc_id_t* id) {
  return c_call([&]() -> Status {
    if (key == nullptr || id == nullptr) return refuse(EINVAL, "no key, or no room for its ID");
    const exs::svc::IdBytes bytes = key->key.id();
    std::copy(bytes.begin(), bytes.end(), id->bytes);
    return {};
  });
}

int exs_svc_id_text(const exs_svc_id_t* id, char* text) {
  return c_call([&]() -> Status {
    if (id == nullptr || text == nullptr) return refuse(EINVAL, "no ID, or no room for its text");
    const std::string written = exs::svc::text_of(exs::svc::bytes_of(*id));
    std::memcpy(text, written.c_str(), written.size() + 1);
    return {};
  });
}

int exs_svc_id_parse(const char* text, exs_svc_id_t* id) {
  return c_call([&]() -> Status {
    const auto parsed = text == nullptr || id == nullptr ? std::nullopt : exs::svc::parse_id(text);
    if (!parsed) return refuse(EINVAL, "an ID is \"exs:\" and 32 digits of 0-9 and a-f");
    std::copy(parsed->begin(), parsed->end(), id->bytes);
    return {};
  });
}

int exs_svc_find(const char* names, const char* name, exs_svc_id_t* id) {
  return c_call([&]() -> Status {
    if (name == nullptr || id == nullptr) return refuse(EINVAL, "no name, or no room for its ID");
    const std::string path = names == nullptr ? exs::svc::NamesFile::default_path() : names;
    std::optional<exs::svc::IdBytes> found = exs::svc::parse_id(name);
    if (!found) found = exs::svc::NamesFile(path).id_of(name);
    if (!found) return refuse_in_words(ENOENT, {path, " has no line for ", name});
    std::copy(found->begin(), found->end(), id->bytes);
    return {};
  });
}

int exs_svc_cap_make(const exs_svc_key_t* key, uint32_t rights, uint32_t serial, int64_t expires_ms,
                     exs_svc_cap_t* cap) {
  return c_call([&]() -> Status {
    if (key == nullptr || cap == nullptr || expires_ms < 0 || rights == 0 ||
        (rights & ~static_cast<std::uint32_t>(EXS_SVC_ALL)) != 0)
      return refuse(EINVAL, "no key, no room, or rights that are none");
    exs::svc::to_public(exs::svc::make_capability(key->key, rights, serial, expires_ms), *cap);
    return {};
  });
}

int exs_svc_cap_text(const exs_svc_cap_t* cap, char* text) {
  return c_call([&]() -> Status {
    if (cap == nullptr || text == nullptr) return refuse(EINVAL, "no capability, or no room for its text");
    const std::string written = exs::svc::text_of(exs::svc::from_public(*cap));
    std::memcpy(text, written.c_str(), written.size() + 1);
    return {};
  });
}

int exs_svc_cap_parse(const char* text, exs_svc_cap_t* cap) {
  return c_call([&]() -> Status {
    const auto parsed = text == nullptr || cap == nullptr ? std::nullopt : exs::svc::parse_capability(text);
    if (!parsed) return refuse(EINVAL, "a capability is \"exs-cap:\" and 128 digits of 0-9 and a-f");
    exs::svc::to_public(*parsed, *cap);
    return {};
  });
}
