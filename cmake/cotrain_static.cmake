# A static binary that depends on nothing of the machine that built it: archives only, no path of the tree inside.
if(NOT COTRAIN_STATIC)
  return()
endif()
set(OPENSSL_USE_STATIC_LIBS ON)
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
# FindOpenSSL would ask pkg-config what the system's OpenSSL needs, and take it for ours.
if(OPENSSL_ROOT_DIR)
  set(ENV{PKG_CONFIG_LIBDIR} ${OPENSSL_ROOT_DIR}/lib/pkgconfig)
endif()
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=build)
# fmt's only use of std::locale, which would bring half a megabyte of facets along.
add_compile_definitions(FMT_STATIC_THOUSANDS_SEPARATOR=',')

# cotrain_favour_size(): rooms in which no time is spent are made small; called when all targets are there.
function(cotrain_favour_size)
  foreach(room kube admission serve sim app)
    if(TARGET cotrain_${room})
      target_compile_options(cotrain_${room} PRIVATE -Os)
    endif()
  endforeach()
  file(GLOB cold ${CMAKE_SOURCE_DIR}/src/api/schema/*.cpp ${CMAKE_SOURCE_DIR}/src/api/yaml*.cpp)
  set_source_files_properties(${cold} DIRECTORY ${CMAKE_SOURCE_DIR}/src PROPERTIES COMPILE_OPTIONS -Os)
endfunction()
