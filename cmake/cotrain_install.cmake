# What `cmake --install` leaves: the binary, the rooms as a package, their headers.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(rooms GLOBAL PROPERTY COTRAIN_ROOMS)
install(TARGETS cotrain RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS cotrain_flags ${rooms} EXPORT cotrain_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cotrain
        FILES_MATCHING PATTERN "*.hpp" PATTERN app EXCLUDE PATTERN sim EXCLUDE PATTERN ui EXCLUDE PATTERN playground EXCLUDE PATTERN bench EXCLUDE)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT cotrain_targets NAMESPACE cotrain:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/cotrain)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/cotrainConfig.cmake.in
  ${CMAKE_BINARY_DIR}/cotrainConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/cotrain)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cotrainConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cotrainConfig.cmake ${CMAKE_BINARY_DIR}/cotrainConfigVersion.cmake
              ${CMAKE_SOURCE_DIR}/cmake/Findnghttp2.cmake ${CMAKE_SOURCE_DIR}/cmake/Findlibyaml.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/cotrain)
