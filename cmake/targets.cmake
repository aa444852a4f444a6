# One interface target carries the flags of every target of the house, so none can forget them.
# SPDX-License-Identifier: BSD-2-Clause
add_library(exs_flags INTERFACE)
target_include_directories(exs_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_options(exs_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow
  $<$<AND:$<BOOL:${EXS_BUILD_TESTS}>,$<NOT:$<BOOL:${EXS_FUZZ}>>>:-Werror>  # users have other compilers, which find other things
  $<$<COMPILE_LANGUAGE:CXX>:-Wconversion -Wnon-virtual-dtor -Woverloaded-virtual>
  # g++ 12 warns of overlaps inside its own std::string at -O3 (GCC bug 105651).
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
target_compile_definitions(exs_flags INTERFACE _GNU_SOURCE $<$<CONFIG:Debug>:EXS_DEBUG>)

if(EXS_SANITIZE)
  string(REPLACE "," "_" sanitizer_names "${EXS_SANITIZE}")
  # For all folders, not in exs_flags: what a folder takes away must come behind it in the command.
  add_compile_options(-fsanitize=${EXS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -Og -g1)
  target_link_options(exs_flags INTERFACE -fsanitize=${EXS_SANITIZE})
  target_compile_definitions(exs_flags INTERFACE EXS_SANITIZED_${sanitizer_names})
endif()
if(EXS_FUZZ)
  # Clang does not say by itself that the address sanitizer is on.
  add_compile_options(-fsanitize=fuzzer-no-link -D__SANITIZE_ADDRESS__=1 -Wno-unused-command-line-argument -Wno-sign-conversion -Wno-unknown-attributes)
endif()

# A shared library exports what its map names, and nothing else (tests/house/interface.py).
#   exs_export_only(target map)
function(exs_export_only target map)
  cmake_path(ABSOLUTE_PATH map)
  target_link_options(${target} PRIVATE -Wl,--version-script=${map})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${map})
endfunction()

# GCC collects its garbage for a tenth of its time, and a fifth of a test's; without, a file takes 100 MB more.
check_cxx_compiler_flag(--param=ggc-min-heapsize=1500000 EXS_KEEPS_GARBAGE)
if(EXS_KEEPS_GARBAGE AND EXS_BUILD_TESTS)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1500000>)
endif()

# GCC clears and copies structs by `rep` instructions, each of which takes longer than the stores that it replaces.
set(EXS_STRUCTS_BY_STORES -mmemset-strategy=unrolled_loop:256:noalign,libcall:-1:noalign
  -mmemcpy-strategy=unrolled_loop:64:noalign,libcall:-1:noalign)
check_cxx_compiler_flag("${EXS_STRUCTS_BY_STORES}" EXS_CLEARS_BY_STORES)
if(EXS_CLEARS_BY_STORES AND NOT EXS_SANITIZE)
  target_compile_options(exs_flags INTERFACE ${EXS_STRUCTS_BY_STORES})
endif()

include(cmake/packages.cmake)
