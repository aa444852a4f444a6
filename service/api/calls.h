// Helpers that all functions of exs/service.h share. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <vector>

#include "base/c_call.h"
#include "base/options.h"
#include "base/refusal.h"
#include "exs/service.h"
#include "service/names/capability.h"

namespace exs::svc {

const Key& key_of(const exs_svc_key* key);

inline IdBytes bytes_of(const exs_svc_id_t& id) {
  IdBytes bytes;
  std::copy(std::begin(id.bytes), std::end(id.bytes), bytes.begin());
  return bytes;
}

inline Capability from_public(const exs_svc_cap_t& cap) {
  Capability capability{bytes_of(cap.id), cap.rights, cap.serial, cap.expires_ms, {}};
  std::copy(std::begin(cap.secret), std::end(cap.secret), capability.secret.begin());
  return capability;
}

inline void to_public(const Capability& capability, exs_svc_cap_t& cap) {
  std::copy(capability.id.begin(), capability.id.end(), cap.id.bytes);
  cap.rights = capability.rights;
  cap.serial = capability.serial;
  cap.expires_ms = capability.expires_ms;
  std::copy(capability.secret.begin(), capability.secret.end(), cap.secret);
}

// Checks pieces of the program's memory, and copies their list.
Result<std::vector<exs_iovec_t>> read_pieces(const exs_iovec_t* pieces, int count);

// What exs_svc_errtext() says of an error that has no sentence of its own, after the words of strerror(3).
const char* general_sentence(std::string_view function, int error) noexcept;

}  // namespace exs::svc
