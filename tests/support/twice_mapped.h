// Memory that peers read while a thread of the test writes it.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>

#include "exs/exs.h"

namespace exs::test {

// Memory that is mapped twice: the library uses one mapping, the writer the other, as if it were another
// process. So the thread sanitizer does not take the peer's reads for a race with the writer.
class TwiceMapped {
 public:
  explicit TwiceMapped(std::size_t bytes) : bytes_(bytes) {
    const int memory = ::memfd_create("twice mapped", MFD_CLOEXEC);
    BOOST_REQUIRE_EQUAL(::ftruncate(memory, static_cast<off_t>(bytes_)), 0);
    for (void*& place : places_) {
      place = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
      BOOST_REQUIRE(place != MAP_FAILED);
    }
    ::close(memory);
    handle_ = exs_mregister(places_[0], bytes_, 0);
    BOOST_REQUIRE(handle_ != EXS_MHANDLE_INVALID);
  }
  ~TwiceMapped() {
    exs_mderegister(handle_, EXS_MRF_WAIT);
    for (void* place : places_) ::munmap(place, bytes_);
  }
  TwiceMapped(const TwiceMapped&) = delete;
  TwiceMapped& operator=(const TwiceMapped&) = delete;
  [[nodiscard]] void* registered() const { return places_[0]; }
  [[nodiscard]] void* of_the_owner() const { return places_[1]; }
  [[nodiscard]] exs_mhandle_t handle() const { return handle_; }

 private:
  const std::size_t bytes_;
  std::array<void*, 2> places_{};
  exs_mhandle_t handle_ = EXS_MHANDLE_INVALID;
};

}  // namespace exs::test
