# cotrain_room(name arrows...): one folder of src/ becomes the target cotrain::name, linked along its arrows.
function(cotrain_room name)
  cotrain_add_room(${name} ${ARGN})
  set_property(GLOBAL APPEND PROPERTY COTRAIN_ROOMS cotrain_${name})
endfunction()

# cotrain_room_apart(name arrows...): the same for a room that is no part of the product: only the program `cotrain` links it.
function(cotrain_room_apart name)
  cotrain_add_room(${name} ${ARGN})
  set_property(GLOBAL APPEND PROPERTY COTRAIN_ROOMS_APART cotrain_${name})
endfunction()

function(cotrain_add_room name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  add_library(cotrain_${name} STATIC ${sources})
  add_library(cotrain::${name} ALIAS cotrain_${name})
  set_target_properties(cotrain_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_include_directories(cotrain_${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src> $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:include> $<INSTALL_INTERFACE:include/cotrain>)
  target_link_libraries(cotrain_${name} PUBLIC cotrain::flags PRIVATE $<BUILD_INTERFACE:cotrain_strict>)
  foreach(arrow IN LISTS ARGN)
    target_link_libraries(cotrain_${name} PUBLIC cotrain::${arrow})
  endforeach()
  # Where foreign numbers are computed with, sanitizers also end what wraps or loses bits by mistake.
  if(COTRAIN_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND name MATCHES "^(doc|api|crd|runtime|admission)$")
    target_compile_options(cotrain_${name} PRIVATE
      -fsanitize=integer -fsanitize-ignorelist=${CMAKE_SOURCE_DIR}/cmake/integer_ignore.txt)
  endif()
  if(name STREQUAL "base")
    cotrain_precompile(cotrain_base)
  else()
    cotrain_precompile(cotrain_${name} FROM cotrain_base)
  endif()
endfunction()

# cotrain_rooms_of(variable source): the targets of the rooms whose headers a source includes.
function(cotrain_rooms_of variable source)
  file(STRINGS ${source} lines REGEX "^#include \"[a-z]+/")
  set(found)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include \"([a-z]+)/.*" "cotrain_\\1" target ${line})
    if(TARGET ${target})
      list(APPEND found ${target})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES found)
  set(${variable} ${found} PARENT_SCOPE)
endfunction()
