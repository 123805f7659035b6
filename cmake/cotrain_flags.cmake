# Compiler flags that every room shares, as the interface target cotrain_flags.
add_library(cotrain_flags INTERFACE)
add_library(cotrain::flags ALIAS cotrain_flags)
set_target_properties(cotrain_flags PROPERTIES EXPORT_NAME flags)
target_compile_features(cotrain_flags INTERFACE cxx_std_23)
# Clang works with its own standard library: the system's may be older than C++23. What links our archives needs the same.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-stdlib=libc++>)
  add_link_options(-stdlib=libc++ -fuse-ld=lld)
  target_compile_options(cotrain_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-stdlib=libc++>)
  target_link_options(cotrain_flags INTERFACE -stdlib=libc++)
endif()

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

# What makes a defect of memory harder to use, in every build: tests run as the shipped program does.
add_compile_options(-fstack-protector-strong -fstack-clash-protection -ftrivial-auto-var-init=zero)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64")
  add_compile_options(-fcf-protection=full)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  add_compile_options(-mbranch-protection=standard)
endif()
if(NOT COTRAIN_SANITIZE AND NOT COTRAIN_COVERAGE)
  add_compile_options($<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=3>)
endif()
add_compile_definitions($<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_ASSERTIONS>
  $<$<COMPILE_LANGUAGE:CXX>:_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_FAST>)
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)

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
  # Installed archives hold machine code, too: any linker takes them. Neither static programs nor benches are installed.
  if(NOT COTRAIN_STATIC AND NOT COTRAIN_BENCH)
    add_compile_options(-ffat-lto-objects)
    add_link_options(-ffat-lto-objects)
  endif()
endif()
