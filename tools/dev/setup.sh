# Installing what is missing through apt, after saying what and why. Sourced by ./dev.

# What proves that a package is there: a command or a header. "proof package" pairs.
readonly build_proofs='
clang++-19 clang-19
ld.lld-19 lld-19
llvm-ar-19 llvm-19
/usr/lib/llvm-19/include/c++/v1/expected libc++-19-dev
/usr/lib/llvm-19/lib/libc++abi.a libc++abi-19-dev
cmake cmake
ninja ninja-build
ccache ccache
git git
/usr/include/boost/asio/any_completion_handler.hpp boost
/usr/include/nghttp2/nghttp2.h libnghttp2-dev
/usr/include/yaml.h libyaml-dev
/usr/include/openssl/ssl.h libssl-dev
/usr/include/fmt/core.h libfmt-dev
/usr/src/googletest/CMakeLists.txt googletest'
readonly test_proofs='
go golang-go
curl curl
openssl openssl
nghttpd nghttp2-server
ssh-keygen openssh-client'
readonly bench_proofs='
h2load nghttp2-client
nghttpd nghttp2-server
strace strace
valgrind valgrind'
readonly image_proofs='
clang++-19 clang-19
ld.lld-19 lld-19
llvm-ar-19 llvm-19
cmake cmake
ninja ninja-build
ccache ccache
readelf binutils
curl curl
make make
patch patch
perl perl
xz xz-utils'
readonly image_tests_proofs='
qemu-aarch64 qemu-user
/usr/src/googletest/CMakeLists.txt googletest'
readonly release_proofs='
rpmbuild rpm
go golang-go'
# Debian keeps the wheels that python3 -m venv needs in a package of their own.
readonly docs_proofs='
/usr/share/python-wheels python3-venv'
readonly check_proofs='
clang++-19 clang-19
clang-tidy-19 clang-tidy-19
clang-format-19 clang-format-19
go golang-go
patchelf patchelf
python3 python3
/usr/lib/llvm-19/lib/clang/19/include/fuzzer/FuzzedDataProvider.h libclang-rt-19-dev'
# The playground's page: any Chromium will do; Debian's without windows is the smallest.
page_proofs='chromium-headless-shell chromium-headless-shell'
for each in chromium chromium-browser google-chrome; do ! command -v "$each" >/dev/null || page_proofs=; done

# need WHAT…: everything that building, testing, … takes is there afterwards.
need() {
  local what proofs missing=() proof package
  for what; do
    proofs=${what}_proofs
    while read -r proof package; do
      [ -n "$proof" ] || continue
      case $proof in
        /*) [ -e "$proof" ] || missing+=("$package") ;;
        *) have "$proof" || missing+=("$package") ;;
      esac
    done <<<"${!proofs}"
  done
  [ ${#missing[@]} = 0 ] || install_packages "${missing[@]}"
  case " $* " in *' build '*) need_libraries ;; esac
}

setup_all() {
  need build test bench check page e2e image
  say "everything is there"
}

# Only what the distribution's own suites have: no suite is added, and no library of the system replaced.
install_packages() {
  [ -r /etc/os-release ] || die "setup: cannot tell which system this is; install by hand: $*"
  local ID='' VERSION_ID=''
  . /etc/os-release
  have apt-get || die "setup: only apt is supported ($ID $VERSION_ID); install by hand: $*"
  local wanted=() package
  for package in "$@"; do
    case $ID-$VERSION_ID:$package in
      debian-12:boost) wanted+=(libboost1.81-dev) ;;
      *:boost) wanted+=(libboost-dev) ;;
      ubuntu-*:chromium-headless-shell) continue ;; # only as a snap; test/browser/page.sh says what is missing
      *) wanted+=("$package") ;;
    esac
  done
  [ ${#wanted[@]} -gt 0 ] || return 0
  readarray -t wanted < <(printf '%s\n' "${wanted[@]}" | sort -u)
  case $ID-$VERSION_ID in
    debian-12 | debian-13 | ubuntu-24.04 | ubuntu-2[5-9]*) ;;
    *) say "setup: $ID $VERSION_ID is not tried; trying its own packages" ;;
  esac
  say "installing with apt: ${wanted[*]}"
  apt_installs || {
    say "that failed; once more with new lists of packages"
    apt_installs || die "setup: apt could not install: ${wanted[*]} (its words are above)"
  }
}

# With the wanted packages of install_packages. A mirror that is being written to gives lists that do not fit each other
# for a moment. Installed packages stay in the version they have.
apt_installs() {
  quietly build/apt.log as_root apt-get update -q -o Acquire::Retries=3 &&
    quietly build/apt.log as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q -o Acquire::Retries=3 \
      --no-install-recommends --no-upgrade "${wanted[@]}"
}
