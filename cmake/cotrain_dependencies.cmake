# Finds what we stand on: what the system has, else vcpkg's (vcpkg.json names all), else the upstream release, pinned by hash.
include(FetchContent)
set(COTRAIN_MIRROR "https://github.com" CACHE STRING "where upstream releases are fetched from")
set(THREADS_PREFER_PTHREAD_FLAG ON)

find_package(Threads REQUIRED)
# These two have no CMake project of their own, or none for a few headers: the system's or vcpkg's.
find_package(OpenSSL 3.0 REQUIRED)
find_package(Boost 1.81 REQUIRED CONFIG)

# cotrain_upstream(name path hash OPTION=VALUE…): a release, as a part of this build. The hashes are those of vcpkg's ports.
function(cotrain_upstream name path hash)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # the options below count in older projects, too
  set(CMAKE_POLICY_VERSION_MINIMUM 3.5)
  set(CMAKE_MESSAGE_LOG_LEVEL WARNING)
  foreach(option IN LISTS ARGN ITEMS BUILD_SHARED_LIBS=OFF BUILD_TESTING=OFF)
    string(REGEX MATCH "^([^=]+)=(.*)$" option ${option})
    set(${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
  endforeach()
  FetchContent_Declare(${name} URL ${COTRAIN_MIRROR}/${path} URL_HASH ${hash} SYSTEM)
  FetchContent_MakeAvailable(${name})
  set(${name}_SOURCE_DIR ${${name}_SOURCE_DIR} PARENT_SCOPE)
endfunction()

find_package(nghttp2 1.52 QUIET)
if(NOT nghttp2_FOUND)
  cotrain_upstream(nghttp2 nghttp2/nghttp2/archive/v1.70.0.tar.gz
    SHA512=f5f35fdbbf289bb810ce2cc6260cd1d5fb0f72d886d6f0939924fd098715d2aec9ca8c05d3c4fdaf107fc675897af2033785a0c41a04220d2e9fb335807c770a
    ENABLE_LIB_ONLY=ON ENABLE_DOC=OFF BUILD_STATIC_LIBS=ON)
  set(NGHTTP2_INCLUDE_DIR ${nghttp2_SOURCE_DIR}/lib/includes)
  add_library(nghttp2::nghttp2 INTERFACE IMPORTED GLOBAL)
  target_link_libraries(nghttp2::nghttp2 INTERFACE nghttp2_static)
endif()
find_package(libyaml QUIET)
if(NOT libyaml_FOUND)
  cotrain_upstream(libyaml yaml/libyaml/archive/refs/tags/0.2.5.tar.gz
    SHA256=fa240dbf262be053f3898006d502d514936c818e422afdcf33921c63bed9bf2e)
  add_library(libyaml::libyaml INTERFACE IMPORTED GLOBAL)
  target_link_libraries(libyaml::libyaml INTERFACE yaml)
endif()
find_package(fmt 9 QUIET)
if(NOT fmt_FOUND)
  cotrain_upstream(fmt fmtlib/fmt/archive/12.2.0.tar.gz
    SHA512=5ac2ba0f54a484999ed5407d82b77aad170cea49a267decd2c0eedadf3b14413e2a83fcc8e9ca9c16640595e019b8636e160f72314d8be50653324e82ac745eb
    FMT_INSTALL=ON FMT_TEST=OFF FMT_DOC=OFF)
endif()
set(COTRAIN_LIBRARIES "" CACHE PATH "libraries that './dev setup' has unpacked: glaze, benchmark")
find_package(glaze 9 QUIET HINTS ${COTRAIN_LIBRARIES}/glaze/usr/share/glaze)
if(NOT glaze_FOUND)
  cotrain_upstream(glaze stephenberry/glaze/archive/refs/tags/v9.0.0.tar.gz
    SHA256=dd7b033c5bf6e4308615bb7834c541291d5b20f64121d9a68222a39414635517)
endif()

# A C++ library with an ABI fits one standard library: these two are built from source, with the compiler of everything else.
set(cotrain_source_options INSTALL_GTEST=OFF BENCHMARK_ENABLE_TESTING=OFF BENCHMARK_ENABLE_INSTALL=OFF
  CMAKE_INTERPROCEDURAL_OPTIMIZATION=OFF CMAKE_WARN_DEPRECATED=OFF)
if(COTRAIN_TESTS OR COTRAIN_BENCH)
  if(EXISTS /usr/src/googletest/CMakeLists.txt)
    set(FETCHCONTENT_SOURCE_DIR_GOOGLETEST /usr/src/googletest)
  endif()
  cotrain_upstream(googletest google/googletest/archive/v1.18.0.tar.gz
    SHA512=ba0f5769ccf34acf1bc72d1f7e9ffb8202176d02b64f6f3d9047accfc0cf9026ff5a653d24935e2705fff8709566676452616c93ca0ca6277f1e21d79b58a10a
    ${cotrain_source_options})
  foreach(each gtest gmock gmock_main)
    if(NOT TARGET GTest::${each})
      add_library(GTest::${each} ALIAS ${each})
    endif()
  endforeach()
endif()
if(COTRAIN_BENCH)
  if(EXISTS ${COTRAIN_LIBRARIES}/benchmark/CMakeLists.txt)
    set(FETCHCONTENT_SOURCE_DIR_BENCHMARK ${COTRAIN_LIBRARIES}/benchmark)
  endif()
  cotrain_upstream(benchmark google/benchmark/archive/v1.9.5.tar.gz
    SHA512=f207a63868e0c52f31a66ff9fd0ee75183ce3aaaa0946b00a49b77836507363bac8574feef8d9da82810a3167847303d6edf939e74802ad17e5a615bbf61e372
    ${cotrain_source_options})
endif()
