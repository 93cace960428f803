# `cmake --install`: the library, its headers, the command, and what find_package and pkg-config read.
# The exported targets are nereid::nereid, and nereid::runtime without the compiler.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

target_include_directories(nereid_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(nereid_library INTERFACE cxx_std_20)
set_target_properties(nereid_library PROPERTIES EXPORT_NAME nereid)
target_include_directories(nereid_runtime_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(nereid_runtime_library INTERFACE cxx_std_20)
set_target_properties(nereid_runtime_library PROPERTIES EXPORT_NAME runtime)
# A build that links LLVM dynamically finds it where it was; one that has it inside looks nowhere.
if(NOT NEREID_STATIC_LLVM)
  set_target_properties(nereid nereid_library PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
endif()
install(TARGETS nereid_library nereid_runtime_library EXPORT nereid LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS nereid RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/nereid DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT nereid NAMESPACE nereid:: FILE nereid-config.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/nereid)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/nereid-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/nereid-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/nereid)
# The prefix is found from the file's own place, so an installed tree may be moved.
function(nereid_pkg_config library description)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/nereid.pc.in ${CMAKE_BINARY_DIR}/${library}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
nereid_pkg_config(nereid "An engine for the Triton kernel language")
nereid_pkg_config(nereid_runtime "Kernels that Nereid built, without its compiler")

# `cmake --build BUILD --target uninstall` removes what the last `cmake --install BUILD` wrote.
add_custom_target(uninstall VERBATIM
  COMMAND ${CMAKE_COMMAND} -DMANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt -P ${CMAKE_SOURCE_DIR}/cmake/Uninstall.cmake)
