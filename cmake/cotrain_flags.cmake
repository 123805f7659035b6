# Compiler flags that every room shares, as the interface target cotrain_flags.
add_library(cotrain_flags INTERFACE)
add_library(cotrain::flags ALIAS cotrain_flags)
set_target_properties(cotrain_flags PROPERTIES EXPORT_NAME flags)
target_compile_features(cotrain_flags INTERFACE cxx_std_23)

# Private to our own sources: a consumer of the package keeps its own warnings.
add_library(cotrain_strict INTERFACE)
target_compile_options(cotrain_strict INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Wno-missing-field-initializers
  -ffunction-sections -fdata-sections)
if(COTRAIN_WERROR)
  target_compile_options(cotrain_strict INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC reports coroutine frames as mismatched and uses of optional as uninitialised where they are not.
  target_compile_options(cotrain_strict INTERFACE -Wno-mismatched-new-delete -Wno-maybe-uninitialized)
endif()
target_link_options(cotrain_strict INTERFACE -Wl,--gc-sections)

if(COTRAIN_SANITIZE)
  add_compile_options(-fsanitize=${COTRAIN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${COTRAIN_SANITIZE})
endif()
if(COTRAIN_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
if(COTRAIN_LTO)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
endif()
