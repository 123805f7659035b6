# Finds libyaml, whose distribution packages bring no CMake package: target libyaml::libyaml.
find_path(LIBYAML_INCLUDE_DIR yaml.h)
find_library(LIBYAML_LIBRARY yaml)
include(FindPackageHandleStandardArgs)
# The header does not tell the version; 0.2.5 is of 2020, and the last one.
find_package_handle_standard_args(libyaml REQUIRED_VARS LIBYAML_LIBRARY LIBYAML_INCLUDE_DIR)
if(libyaml_FOUND AND NOT TARGET libyaml::libyaml)
  add_library(libyaml::libyaml UNKNOWN IMPORTED)
  set_target_properties(libyaml::libyaml PROPERTIES
    IMPORTED_LOCATION ${LIBYAML_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${LIBYAML_INCLUDE_DIR})
endif()
mark_as_advanced(LIBYAML_INCLUDE_DIR LIBYAML_LIBRARY)
