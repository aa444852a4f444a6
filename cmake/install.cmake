# What `cmake --install` puts where: both libraries, headers, exs.pc, the CMake package, manual pages, documents.
# SPDX-License-Identifier: BSD-2-Clause
include(CMakePackageConfigHelpers)

set(EXS_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/exs)
set(EXS_PKGCONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# What libexs.a needs in turn. rdma-core's own libraries need those of netlink.
set(EXS_PRIVATE_LIST spdlog fmt uring isal)
if(EXS_WITH_VERBS)
  list(APPEND EXS_PRIVATE_LIST rdmacm ibverbs nl-route-3 nl-3 mnl)
endif()
list(APPEND EXS_PRIVATE_LIST stdc++)
list(TRANSFORM EXS_PRIVATE_LIST PREPEND -l OUTPUT_VARIABLE EXS_PRIVATE_LIBS)
list(JOIN EXS_PRIVATE_LIBS " " EXS_PRIVATE_LIBS)
string(APPEND EXS_PRIVATE_LIBS " -pthread")
list(APPEND EXS_PRIVATE_LIST -pthread)

# exs.pc finds its prefix from where it lies, so an installed tree may be moved.
file(RELATIVE_PATH EXS_PREFIX_FROM_PC ${CMAKE_INSTALL_PREFIX}/${EXS_PKGCONFIG_DIR} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" EXS_PREFIX_FROM_PC "${EXS_PREFIX_FROM_PC}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/exs.pc.in ${CMAKE_CURRENT_BINARY_DIR}/exs.pc @ONLY)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/exsConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/exsConfig.cmake
  INSTALL_DESTINATION ${EXS_PACKAGE_DIR} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
# Before 1.0 each minor release may change the interface.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/exsConfigVersion.cmake COMPATIBILITY SameMinorVersion)

if(NOT is_multi_config)  # there the scripts name the files of all configurations
  install(CODE "set(EXS_CHECK_BUILD [==[${CMAKE_BINARY_DIR}]==])
    set(EXS_CHECK_SCRIPT [==[${PROJECT_BINARY_DIR}/cmake_install.cmake]==])
    include([==[${PROJECT_SOURCE_DIR}/cmake/install_check.cmake]==])")
endif()
install(TARGETS exs EXPORT exsTargets LIBRARY)
# exs_static is not exported: it would drag its object library along. exsConfig.cmake makes exs::exs_static.
install(TARGETS exs_static ARCHIVE)
install(EXPORT exsTargets NAMESPACE exs:: DESTINATION ${EXS_PACKAGE_DIR})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/exsConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/exsConfigVersion.cmake
  DESTINATION ${EXS_PACKAGE_DIR})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/exs.pc DESTINATION ${EXS_PKGCONFIG_DIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

foreach(section 1 3 7)
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.${section})
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The documents keep their places to each other. What they name in man/ and include/ is where it is installed.
# The tree's own folders only: a build folder inside it gets copies of them below.
file(GLOB top_documents RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/*.md)
set(patterns)
foreach(folder bindings doc event examples fabric perf rpc service sockets src tests tools)
  list(APPEND patterns ${PROJECT_SOURCE_DIR}/${folder}/*.md)
endforeach()
file(GLOB_RECURSE documents RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${patterns})
list(APPEND documents ${top_documents})
set(linked_files)
foreach(document ${documents})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${document})
  cmake_path(GET document PARENT_PATH folder)
  file(READ ${PROJECT_SOURCE_DIR}/${document} text)
  # Pictures and sources that a document links to.
  string(REPLACE "](" "<link>" marked "${text}")
  string(REGEX MATCHALL "<link>[^]#);[ \n]+" links "${marked}")
  list(TRANSFORM links REPLACE "<link>" "")
  foreach(link IN LISTS links)
    cmake_path(SET file NORMALIZE "${PROJECT_SOURCE_DIR}/${folder}/${link}")
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    if(EXISTS ${file} AND NOT IS_DIRECTORY ${file} AND NOT name MATCHES "[.]md$|^(man/|include/|examples/|LICENSE$|[.][.])")
      list(APPEND linked_files ${name})
    endif()
  endforeach()
  string(REGEX REPLACE "\\]\\(([./]*)man/([^)]*)[.]([1-8])([)#])" "](\\1../../man/man\\3/\\2.\\3\\4" text "${text}")
  string(REGEX REPLACE "\\]\\(([./]*)include/" "](\\1../../../include/" text "${text}")
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/documents/${document} "${text}")
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/documents/${document} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
endforeach()
list(REMOVE_DUPLICATES linked_files)
foreach(file IN LISTS linked_files)
  cmake_path(GET file PARENT_PATH folder)
  install(FILES ${PROJECT_SOURCE_DIR}/${file} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
endforeach()

# The examples, to be built where they are installed: cmake -B /tmp/examples share/doc/exs/examples
foreach(folder examples examples/rpc)
  set(in ${PROJECT_SOURCE_DIR}/${folder})
  file(GLOB examples CONFIGURE_DEPENDS ${in}/*.c ${in}/*.cc ${in}/*.py ${in}/*.java ${in}/*.x)
  file(GLOB scripts CONFIGURE_DEPENDS ${in}/run-*.sh)
  install(FILES ${examples} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
  install(PROGRAMS ${scripts} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/installed/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
