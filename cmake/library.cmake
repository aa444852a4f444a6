# The library is compiled once, as objects; libexs.so, libexs.a and the unit tests link the same objects. Its calls to the
# kernel are objects of their own, for which a test may link others.
file(GLOB_RECURSE EXS_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cc ${PROJECT_SOURCE_DIR}/event/*.cc)
set(EXS_KERNEL_SOURCE ${PROJECT_SOURCE_DIR}/src/base/kernel.cc)
set(EXS_REASON_SOURCES reason.cc verbs/survey.cc verbs/survey_reasons.cc verbs/port_interfaces.cc)
if(NOT EXS_WITH_VERBS)
  list(FILTER EXS_SOURCES EXCLUDE REGEX "/src/provider/verbs/")
  list(FILTER EXS_REASON_SOURCES EXCLUDE REGEX "^verbs/")
endif()
list(REMOVE_ITEM EXS_SOURCES ${EXS_KERNEL_SOURCE})

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

add_library(exs_kernel OBJECT ${EXS_KERNEL_SOURCE})
target_link_libraries(exs_kernel PUBLIC exs_flags)
target_compile_options(exs_kernel PRIVATE -fvisibility=hidden)

# What refuses a provider and how RDMA devices are looked at: also part of exs-explain.
list(TRANSFORM EXS_REASON_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/src/provider/)
list(REMOVE_ITEM EXS_SOURCES ${EXS_REASON_SOURCES})
add_library(exs_reasons OBJECT ${EXS_REASON_SOURCES})
target_link_libraries(exs_reasons PUBLIC exs_flags ${EXS_RDMA_TARGET})
target_compile_options(exs_reasons PRIVATE -fvisibility=hidden -fvisibility-inlines-hidden)

add_library(exs_objects OBJECT ${EXS_SOURCES})
target_sources(exs_objects INTERFACE $<TARGET_OBJECTS:exs_reasons>)
target_link_libraries(exs_objects PUBLIC exs_flags PkgConfig::URING PkgConfig::ISAL ${EXS_RDMA_TARGET} Threads::Threads PRIVATE spdlog::spdlog)
target_compile_options(exs_objects PRIVATE -fvisibility=hidden -fvisibility-inlines-hidden)
exs_precompile_headers(exs_objects library)
if(EXS_SANITIZE)
  # Up to ten files of a folder at a time take half of the time, and a new file moves those of its folder alone. The other
  # presets compile each by itself.
  set_target_properties(exs_objects PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS EXS_SOURCES)
    cmake_path(GET source PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    math(EXPR EXS_FILES_${folder} "${EXS_FILES_${folder}} + 1")
    math(EXPR batch "(${EXS_FILES_${folder}} - 1) / 10")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${folder}_${batch}")
  endforeach()
  # <linux/tcp.h> and the <netinet/tcp.h> of others exclude each other.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/api/adopt.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endif()
target_compile_definitions(exs_objects PRIVATE EXS_VERSION_TEXT="${PROJECT_VERSION}")

set(EXS_MAP ${PROJECT_SOURCE_DIR}/src/exs.map)
add_library(exs SHARED)
target_link_libraries(exs PRIVATE exs_objects exs_kernel spdlog::spdlog)
target_include_directories(exs INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_options(exs PRIVATE -Wl,--version-script=${EXS_MAP} -Wl,-z,defs,-z,nodelete)
if(EXS_SANITIZE)
  target_link_options(exs PRIVATE -Wl,-z,undefs)
endif()
set_target_properties(exs PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0 LINK_DEPENDS ${EXS_MAP})

add_library(exs_static STATIC)
target_link_libraries(exs_static PUBLIC exs_objects exs_kernel spdlog::spdlog)
set_target_properties(exs_static PROPERTIES OUTPUT_NAME exs)
