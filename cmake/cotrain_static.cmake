# A static binary that depends on nothing of the machine that built it: archives only, no path of the tree inside.
if(NOT COTRAIN_STATIC)
  return()
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(OPENSSL_USE_STATIC_LIBS ON)
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=build)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # A program that can be loaded anywhere has 50,000 addresses to correct when it starts: packed, they take a tenth.
  # Functions whose address nobody compares are kept once where they are the same; the linker warns that it leaves
  # Debian's objects alone. Ends of strings are shared; only the smallest functions are copied from one source into another.
  add_link_options(-Wl,--pack-dyn-relocs=relr -Wl,--icf=safe -Wl,--no-warnings -Wl,-O2 -Wl,-mllvm,-import-instr-limit=5)
endif()
# fmt's only use of std::locale, which would bring half a megabyte of facets along.
add_compile_definitions(FMT_STATIC_THOUSANDS_SEPARATOR=',')

# cotrain_favour_size(): all is made small but reading and writing documents; called when all targets are there.
function(cotrain_favour_size)
  set(small -Os)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set(small -Oz)
  endif()
  foreach(room base kube admission certs serve sim app net watch reconcile plugins runtime)
    if(TARGET cotrain_${room})
      target_compile_options(cotrain_${room} PRIVATE ${small})
    endif()
  endforeach()
  file(GLOB cold ${CMAKE_SOURCE_DIR}/src/crd/*.cpp ${CMAKE_SOURCE_DIR}/src/doc/yaml*.cpp)
  set_source_files_properties(${cold} DIRECTORY ${CMAKE_SOURCE_DIR}/src PROPERTIES COMPILE_OPTIONS ${small})
endfunction()
