include(CMakePackageConfigHelpers)

set(ratel_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Ratel)
set(ratel_products ratel_static)
if(RATEL_BUILD_SHARED)
  list(APPEND ratel_products ratel)
endif()

install(TARGETS ${ratel_products} EXPORT RatelTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/ratel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT RatelTargets NAMESPACE ratel:: DESTINATION ${ratel_cmake_dir})

configure_package_config_file(cmake/RatelConfig.cmake.in ${PROJECT_BINARY_DIR}/RatelConfig.cmake
  INSTALL_DESTINATION ${ratel_cmake_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/RatelConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/RatelConfig.cmake ${PROJECT_BINARY_DIR}/RatelConfigVersion.cmake
  DESTINATION ${ratel_cmake_dir})

# Relative to where ratel.pc lies, so that the installed tree can be moved.
file(RELATIVE_PATH ratel_prefix_from_pc /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(cmake/ratel.pc.in ${PROJECT_BINARY_DIR}/ratel.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ratel.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
