# Cross compiling for linux/arm64 with Debian's compiler; what is built runs here under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc-14)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-14)
set(CMAKE_AR aarch64-linux-gnu-gcc-ar-14)
set(CMAKE_RANLIB aarch64-linux-gnu-gcc-ranlib-14)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu)
# Headers are shared between architectures (Debian's "Multi-Arch: same"), libraries are not.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# Packages that are headers only describe themselves among this machine's libraries.
list(APPEND CMAKE_PREFIX_PATH /usr/lib/${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu/cmake)
