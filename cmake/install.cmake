# What `cmake --install` puts where: both libraries, headers, exs.pc, the CMake package, manual pages, documents.
include(CMakePackageConfigHelpers)

set(EXS_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/exs)
set(EXS_PKGCONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# exs.pc finds its prefix from where it lies, so an installed tree may be moved.
file(RELATIVE_PATH EXS_PREFIX_FROM_PC ${CMAKE_INSTALL_PREFIX}/${EXS_PKGCONFIG_DIR} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" EXS_PREFIX_FROM_PC "${EXS_PREFIX_FROM_PC}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/exs.pc.in ${CMAKE_CURRENT_BINARY_DIR}/exs.pc @ONLY)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/exsConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/exsConfig.cmake
  INSTALL_DESTINATION ${EXS_PACKAGE_DIR} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
# Before 1.0 each minor release may change the interface.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/exsConfigVersion.cmake COMPATIBILITY SameMinorVersion)

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
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
