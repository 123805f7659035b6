# The headers that nearly every source includes, compiled once: a third of the time of an everyday build. Sources still
# name what they use; builds without this (release, image) tell where one does not.
option(COTRAIN_PRECOMPILED "compile the most used headers once" OFF)
set(cotrain_precompiled_headers
  <algorithm> <array> <charconv> <chrono> <cstdint> <expected> <functional> <map> <memory> <optional> <span> <string>
  <string_view> <utility> <vector> <fmt/format.h>
  <boost/asio/as_tuple.hpp> <boost/asio/awaitable.hpp> <boost/asio/co_spawn.hpp> <boost/asio/io_context.hpp>
  <boost/asio/ip/tcp.hpp> <boost/asio/steady_timer.hpp> <boost/asio/use_awaitable.hpp>)
# CMake names the header beside the precompiled file, by absolute path: compiler caches would take each clone for another.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
endif()

# cotrain_precompile(target [FROM owner] [headers...]): made by the target itself, or what the owner has made.
function(cotrain_precompile target)
  if(NOT COTRAIN_PRECOMPILED)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FROM" "")
  if(arg_FROM)
    target_precompile_headers(${target} REUSE_FROM ${arg_FROM})
  else()
    target_precompile_headers(${target} PRIVATE ${cotrain_precompiled_headers} ${arg_UNPARSED_ARGUMENTS})
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")  # or compiler caches would see another file each time
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  else()
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()
