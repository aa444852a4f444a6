# The headers that most files include, compiled once: a quarter of what a file takes. The library without a sanitizer, and
# everything in the preset debug, in builds of users and for the analysers, does without, so that a file which does not include
# what it needs fails there.
# SPDX-License-Identifier: BSD-2-Clause
set(EXS_STANDARD_HEADERS <algorithm> <array> <atomic> <cstdint> <cstring> <functional> <map> <memory> <mutex> <optional> <span>
  <string> <string_view> <thread> <unordered_map> <utility> <vector> <fmt/core.h> <tl/expected.hpp>)

if(EXS_UNITY AND EXS_BUILD_TESTS)
  set(EXS_PRECOMPILED_GROUPS layers tools_support tools tests)
  if(EXS_SANITIZE)
    list(APPEND EXS_PRECOMPILED_GROUPS library)
  endif()
endif()

if(CCACHE)
  # ccache takes what a file includes from the compiler, and preprocesses nothing by itself: a tenth of the time when nothing is
  # cached. Before it caches files that use such headers it asks for the rest.
  list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros)
endif()

# Targets of one group are compiled with the same options; the first one's compiled headers serve them all.
function(exs_precompile_headers target group)
  if(NOT group IN_LIST EXS_PRECOMPILED_GROUPS)
    return()
  endif()
  get_property(first GLOBAL PROPERTY exs_precompiled_${group})
  if(first AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # It refuses headers that were compiled with other options.
    get_target_property(options ${target} COMPILE_OPTIONS)
    get_target_property(first_options ${first} COMPILE_OPTIONS)
    if(NOT options STREQUAL first_options)
      return()
    endif()
  endif()
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${EXS_STANDARD_HEADERS} ${ARGN})
    set_property(GLOBAL PROPERTY exs_precompiled_${group} ${target})
  endif()
endfunction()
