// The link between libfabric's objects and ours: each of ours has libfabric's structure as a member, and is found by its address.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include <rdma/fabric.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

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

// Runs the body of an entry point. Exceptions become negative errno values of libfabric.
template <typename Body>
auto guarded(Body&& body) noexcept -> decltype(body()) {
  using Outcome = decltype(body());
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return static_cast<Outcome>(-FI_ENOMEM);
  } catch (const std::exception&) {
    return static_cast<Outcome>(-FI_EOTHER);
  }
}

// Returns the error of a failed call of exs, as a negative errno value.
[[nodiscard]] inline int last_error() noexcept {
  return -(errno == EMSGSIZE ? FI_ETRUNC : errno);
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
int tell_descriptor(fid* fid, int command, void* argument) noexcept {
  if (command != FI_GETWAIT) return -FI_ENOSYS;
  const int descriptor = Self::of(fid).descriptor();
  if (descriptor < 0) return -FI_ENODATA;
  *static_cast<int*>(argument) = descriptor;
  return 0;
}

// The wait objects on offer.
inline bool is_offered(fi_wait_obj wait) noexcept {
  return wait == FI_WAIT_NONE || wait == FI_WAIT_UNSPEC || wait == FI_WAIT_FD;
}

template <typename Queue>
const char* tell_error(Queue* /*queue*/, int error, const void* /*data*/, char* into,
                       std::size_t bytes) noexcept {
  const char* const text = fi_strerror(error);
  if (into != nullptr && bytes > 0) std::snprintf(into, bytes, "%s", text);
  return text;
}

}  // namespace exs::fabric
