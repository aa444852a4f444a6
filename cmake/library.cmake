# The library is compiled once, as objects: libexs.so, libexs.a and the unit tests link the same. The lower rooms of the house
# are objects of their own, so that a test of one links what is below it; so are the calls to the kernel, for which a test may
# link others. The base is below the layers and the tools, too: each library has those parts of it that it uses.
# SPDX-License-Identifier: BSD-2-Clause
set(EXS_KERNEL_SOURCE ${PROJECT_SOURCE_DIR}/base/kernel.cc)
set(EXS_REASON_SOURCES reason.cc verbs/survey.cc verbs/survey_reasons.cc verbs/port_interfaces.cc)
if(NOT EXS_WITH_VERBS)
  list(FILTER EXS_REASON_SOURCES EXCLUDE REGEX "^verbs/")
endif()
list(TRANSFORM EXS_REASON_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/src/provider/)

# What starts processes by PMIx brings its library; to build, its header is enough.
set(EXS_PMIX_SOURCES boot library deaths)
list(TRANSFORM EXS_PMIX_SOURCES REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/boot/pmix_\\1.cc")
pkg_check_modules(PMIX QUIET pmix)
if(PMIX_FOUND)
  list(FILTER PMIX_INCLUDE_DIRS EXCLUDE REGEX "^/usr/include$")
  list(TRANSFORM PMIX_INCLUDE_DIRS PREPEND -isystem OUTPUT_VARIABLE EXS_PMIX_OPTIONS)
  set_source_files_properties(${EXS_PMIX_SOURCES} PROPERTIES COMPILE_OPTIONS "${EXS_PMIX_OPTIONS}")
else()
  message(STATUS "PMIx is not here (libpmix-dev): exs-run starts jobs, and mpirun does not")
  set_source_files_properties(${EXS_PMIX_SOURCES} PROPERTIES COMPILE_DEFINITIONS EXS_WITHOUT_PMIX)
endif()

#   exs_add_room(target folder...): the objects of what is in the folders, and below
function(exs_add_room target)
  list(TRANSFORM ARGN REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/\\1/*.cc" OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${patterns})
  list(REMOVE_ITEM sources ${EXS_KERNEL_SOURCE} ${EXS_REASON_SOURCES})
  if(NOT EXS_WITH_VERBS)
    list(FILTER sources EXCLUDE REGEX "/src/provider/verbs/")
  endif()
  add_library(${target} OBJECT ${sources})
  target_link_libraries(${target} PUBLIC exs_flags PkgConfig::URING PkgConfig::ISAL ${EXS_RDMA_TARGET} Threads::Threads PRIVATE spdlog::spdlog)
  target_compile_options(${target} PRIVATE -fvisibility=hidden -fvisibility-inlines-hidden)
  exs_precompile_headers(${target} library)
  exs_compile_in_batches(${target})
endfunction()

# The base, which knows nothing of exs, its log, or a library but the C++ library.
file(GLOB base_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/base/*.cc)
list(REMOVE_ITEM base_sources ${EXS_KERNEL_SOURCE})
# What reaches thread-local variables in the fast way, which takes room of all threads for good: for libexs.so, and not for layers that
# are loaded late (a provider of libfabric, say) and would find none left.
set(base_of_threads thread_record bias read_section)
list(TRANSFORM base_of_threads REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/base/\\1.cc")
list(REMOVE_ITEM base_sources ${base_of_threads})
add_library(exs_threads OBJECT ${base_of_threads})
target_link_libraries(exs_threads PUBLIC exs_flags Threads::Threads)
target_compile_options(exs_threads PRIVATE -fvisibility=hidden -fvisibility-inlines-hidden)
exs_precompile_headers(exs_threads layers)
exs_compile_in_batches(exs_threads)
add_library(exs_base OBJECT ${base_sources})
target_link_libraries(exs_base PUBLIC exs_flags Threads::Threads)
target_compile_options(exs_base PRIVATE -fvisibility=hidden -fvisibility-inlines-hidden)
exs_precompile_headers(exs_base layers)
exs_compile_in_batches(exs_base)
add_library(exs_kernel OBJECT ${EXS_KERNEL_SOURCE})
target_link_libraries(exs_kernel PUBLIC exs_flags)
target_compile_options(exs_kernel PRIVATE -fvisibility=hidden)

# What refuses a provider and how RDMA devices are looked at: also part of exs-explain.
add_library(exs_reasons OBJECT ${EXS_REASON_SOURCES})
target_link_libraries(exs_reasons PUBLIC exs_flags ${EXS_RDMA_TARGET})
target_compile_options(exs_reasons PRIVATE -fvisibility=hidden -fvisibility-inlines-hidden)

# They rename what exs.h has inline, so nothing may have brought that in before.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/api/bracket_functions.cc ${PROJECT_SOURCE_DIR}/src/api/event_functions.cc
  PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)

exs_add_room(exs_log src/log)
exs_add_room(exs_wire src/wire)
exs_add_room(exs_match src/match)
exs_add_room(exs_proto src/proto)
exs_add_room(exs_provider src/provider)
exs_add_room(exs_objects event src/boot src/api src/message)
foreach(room reasons base threads log wire match proto provider)
  target_sources(exs_objects INTERFACE $<TARGET_OBJECTS:exs_${room}>)
endforeach()
target_compile_definitions(exs_objects PRIVATE EXS_VERSION_TEXT="${PROJECT_VERSION}")

add_library(exs SHARED)
exs_export_only(exs ${PROJECT_SOURCE_DIR}/src/exs.map)
target_link_libraries(exs PRIVATE exs_objects exs_kernel spdlog::spdlog)
target_include_directories(exs INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_options(exs PRIVATE -Wl,-z,defs,-z,nodelete)
if(EXS_SANITIZE)
  target_link_options(exs PRIVATE -Wl,-z,undefs)
endif()
set_target_properties(exs PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0)

add_library(exs_static STATIC)
target_link_libraries(exs_static PUBLIC exs_objects exs_kernel spdlog::spdlog)
set_target_properties(exs_static PROPERTIES OUTPUT_NAME exs)
target_include_directories(exs_static INTERFACE ${PROJECT_SOURCE_DIR}/include)
