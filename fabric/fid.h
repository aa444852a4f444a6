// The link between libfabric's objects and ours: each of ours has libfabric's structure as a member, and is found by its address.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>

#include <rdma/fabric.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include "base/clock.h"
#include "base/status.h"

namespace exs::fabric {

// An object of ours that libfabric knows as a `Fid`, such as fid_cq. The Fid comes first, so one pointer serves both.
template <typename Self, typename Fid>
class Object {
 public:
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  [[nodiscard]] static Self& of(Fid* fid) noexcept { return *static_cast<Self*>(to_object(fid)); }
  [[nodiscard]] static Self& of(fid_t fid) noexcept { return of(reinterpret_cast<Fid*>(fid)); }
  [[nodiscard]] Fid* handle() noexcept { return &handle_.fid; }

 protected:
  Object(std::size_t fclass, fi_ops& ops, void* context) noexcept {
    handle_.fid.fid.fclass = fclass;
    handle_.fid.fid.context = context;
    handle_.fid.fid.ops = &ops;
    handle_.object = this;
  }
  ~Object() = default;

 private:
  struct Handle {
    Fid fid{};
    Object* object = nullptr;
  };
  static_assert(std::is_standard_layout_v<Handle>);

  static Object* to_object(Fid* fid) noexcept { return reinterpret_cast<Handle*>(fid)->object; }

  Handle handle_;
};

// An error of ours, as libfabric's functions return it: 0, or a negative errno value.
[[nodiscard]] inline int to_fi(Status status) noexcept {
  return -status.error();
}

// Runs the body of an entry point, which returns a Status or what libfabric expects. Exceptions become negative errno values of libfabric.
template <typename Outcome = int, typename Body>
Outcome guarded(Body&& body) noexcept {
  try {
    if constexpr (std::is_same_v<std::invoke_result_t<Body>, Status>) {
      return to_fi(std::forward<Body>(body)());
    } else {
      return std::forward<Body>(body)();
    }
  } catch (const std::bad_alloc&) {
    return -FI_ENOMEM;
  } catch (const std::system_error& error) {  // of constructors, for descriptors
    return -error.code().value();
  } catch (const std::exception&) {
    return -FI_EOTHER;
  }
}

// The error of a failed call of exs.
[[nodiscard]] inline Status last_error() noexcept {
  return Status(errno == EMSGSIZE ? FI_ETRUNC : errno);
}

// A function of any type for operations that do not exist here: libfabric calls every entry of its tables.
struct NotHere {
  template <typename Outcome, typename... Arguments>
  using Function = Outcome (*)(Arguments...);

  template <typename Outcome, typename... Arguments>
  constexpr operator Function<Outcome, Arguments...>()
      const noexcept {  // NOLINT(google-explicit-constructor)
    return [](Arguments... /*unused*/) -> Outcome { return -FI_ENOSYS; };
  }
};
inline constexpr NotHere kNotHere;

// ---------------------------------------------------------------- what the objects have in common

// Most objects can only be closed.
inline fi_ops fid_ops(int (*close)(fid*), int (*bind)(fid*, fid*, std::uint64_t) = kNotHere,
                      int (*control)(fid*, int, void*) = kNotHere) noexcept {
  return {.size = sizeof(fi_ops),
          .close = close,
          .bind = bind,
          .control = control,
          .ops_open = kNotHere,
          .tostr = nullptr,
          .ops_set = nullptr};
}

template <typename Self>
int close_object(fid_t fid) noexcept {
  delete &Self::of(fid);
  return 0;
}

template <typename Self>
int close_unused(fid_t fid) noexcept {
  return Self::of(fid).is_used() ? -FI_EBUSY : close_object<Self>(fid);
}

// Handles FI_GETWAIT. Returns -FI_ENODATA if the object was opened without a descriptor.
template <typename Self>
int get_descriptor(fid* fid, int command, void* argument) noexcept {
  if (command != FI_GETWAIT) return -FI_ENOSYS;
  const int descriptor = Self::of(fid).descriptor();
  if (descriptor < 0) return -FI_ENODATA;
  *static_cast<int*>(argument) = descriptor;
  return 0;
}

// The end of a limit from now on, as monotonic_ns() counts. Negative: there is no limit.
inline std::uint64_t end_after_ms(int timeout_ms) noexcept {
  return limit_after(monotonic_ns(), std::int64_t{timeout_ms} * std::int64_t{kNsPerMs});
}

// The wait objects on offer.
inline bool is_offered(fi_wait_obj wait) noexcept {
  return wait == FI_WAIT_NONE || wait == FI_WAIT_UNSPEC || wait == FI_WAIT_FD;
}

template <typename Queue>
const char* error_text(Queue* /*queue*/, int error, const void* /*data*/, char* into,
                       std::size_t bytes) noexcept {
  const char* const text = fi_strerror(error);
  if (into != nullptr && bytes > 0) std::snprintf(into, bytes, "%s", text);
  return text;
}

}  // namespace exs::fabric
