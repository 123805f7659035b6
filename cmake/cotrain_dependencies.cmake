# Finds what we stand on; what a distribution lacks comes from its upstream release, pinned by hash.
include(FetchContent)
set(COTRAIN_MIRROR "https://github.com" CACHE STRING "where upstream releases are fetched from")
set(THREADS_PREFER_PTHREAD_FLAG ON)

find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(Boost 1.81 REQUIRED CONFIG)
find_package(nghttp2 1.52 REQUIRED)

find_package(fmt 9 REQUIRED)

find_package(glaze 9 QUIET)
if(NOT glaze_FOUND)
  FetchContent_Declare(glaze
    URL ${COTRAIN_MIRROR}/stephenberry/glaze/archive/refs/tags/v9.0.0.tar.gz
    URL_HASH SHA256=dd7b033c5bf6e4308615bb7834c541291d5b20f64121d9a68222a39414635517)
  FetchContent_MakeAvailable(glaze)
endif()

if(COTRAIN_TESTS OR COTRAIN_BENCH)
  find_package(GTest 1.12 REQUIRED)
endif()
if(COTRAIN_BENCH)
  find_package(benchmark 1.7 REQUIRED)
endif()
