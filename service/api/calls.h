// Helpers that all functions of exs/service.h share. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <vector>

#include "exs/service.h"
#include "service/api/error_text.h"
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

// Checks and copies pieces of the program's memory. Returns 0, or -1 with errno.
inline int read_pieces(const char* caller, const exs_iovec_t* pieces, int count,
                       std::vector<exs_iovec_t>& read) {
  if (count < 0 || (pieces == nullptr && count > 0))
    return refuse(EINVAL, "%s: no long items, or places for them", caller);
  if (count > EXS_SVC_ITEMS_MAX)
    return refuse(EMSGSIZE, "%s: more than %d long items, or places for them", caller, EXS_SVC_ITEMS_MAX);
  for (int i = 0; i < count; ++i) {
    if ((pieces[i].iov_base == nullptr && pieces[i].iov_len > 0) || pieces[i].iov_reserved != 0)
      return refuse(EINVAL, "%s: long item %d is NULL, or its reserved field is set", caller, i);
    if (pieces[i].iov_len > EXS_SVC_LONG_MAX)
      return refuse(EMSGSIZE, "%s: long item %d is too long", caller, i);
  }
  read.assign(pieces, pieces + count);
  return 0;
}

// Runs a function that may lack memory or threads. On failure errno is the original error, whatever the cleanup set.
template <typename Result, typename Function>
Result guarded(Result failed, Function&& function) {
  Result result = failed;
  try {
    result = function();
  } catch (const std::bad_alloc&) {
    refuse(ENOMEM, "no memory");
  } catch (const std::system_error& error) {
    refuse(error.code().value(), "%s", error.what());
  }
  if (result == failed) restore_error();
  return result;
}

// Copies the options as far as both releases know them. Returns false if struct_bytes is invalid.
template <typename Options>
bool read_options(const Options* given, Options& options) {
  if (given == nullptr) return true;
  if (given->struct_bytes < sizeof given->struct_bytes) return false;
  std::memcpy(&options, given, std::min(given->struct_bytes, sizeof options));
  return true;
}

}  // namespace exs::svc
