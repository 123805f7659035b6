# Installing what is missing through apt, after saying what and why. Sourced by ./dev.

# What proves that a package is there: a command or a header. "proof package" pairs.
readonly build_proofs='
g++-14 g++-14
cmake cmake
ninja ninja-build
ccache ccache
git git
/usr/include/boost/asio/any_completion_handler.hpp boost
/usr/include/nghttp2/nghttp2.h libnghttp2-dev
/usr/include/openssl/ssl.h libssl-dev
/usr/include/fmt/core.h libfmt-dev
/usr/include/gtest/gtest.h libgtest-dev
/usr/include/gmock/gmock.h libgmock-dev
/usr/include/benchmark/benchmark.h libbenchmark-dev
/usr/include/glaze/glaze.hpp glaze'
readonly test_proofs='
go golang-go
curl curl
openssl openssl
nghttpd nghttp2-server
ssh openssh-client
/usr/sbin/sshd openssh-server'
readonly bench_proofs='
h2load nghttp2-client
nghttpd nghttp2-server
strace strace
valgrind valgrind'
readonly image_proofs='
curl curl
make make
perl perl'
readonly image_arm64_proofs='
aarch64-linux-gnu-g++-14 g++-14-aarch64-linux-gnu
qemu-aarch64 qemu-user
/usr/src/googletest/CMakeLists.txt googletest'
readonly check_proofs='
clang++-19 clang-19
clang-tidy-19 clang-tidy-19
clang-format-19 clang-format-19
go golang-go
/usr/lib/llvm-19/lib/clang/19/include/fuzzer/FuzzedDataProvider.h libclang-rt-19-dev'
# The playground's page: any Chromium will do; Debian's without windows is the smallest.
page_proofs='chromium-headless-shell chromium-headless-shell'
for each in chromium chromium-browser google-chrome; do ! command -v "$each" >/dev/null || page_proofs=; done

readonly newer_suites=/etc/apt/sources.list.d/cotrain-newer.sources

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
}

setup_all() {
  need build test bench check page e2e image
  say "everything is there"
}

install_packages() {
  [ -r /etc/os-release ] || die "setup: cannot tell which system this is; install by hand: $*"
  local ID='' VERSION_ID=''
  . /etc/os-release
  have apt-get || die "setup: only apt is supported ($ID $VERSION_ID); install by hand: $*"
  # Debian 13's packages may bring its os-release along; the machine's own suite is still Debian 12's.
  ! grep -qs '^Suites:.*trixie' "$newer_suites" || VERSION_ID=12
  local wanted=() options=() package
  for package in "$@"; do
    case $ID-$VERSION_ID:$package in
      debian-*:boost) wanted+=(libboost1.88-dev) ;;
      *:boost) wanted+=(libboost-dev) ;;
      debian-*:glaze) wanted+=(libglaze-dev/forky) ;;
      *:glaze) continue ;; # CMake fetches the upstream release
      ubuntu-*:chromium-headless-shell) continue ;; # only as a snap; test/browser/page.sh says what is missing
      *) wanted+=("$package") ;;
    esac
  done
  [ ${#wanted[@]} -gt 0 ] || return 0
  readarray -t wanted < <(printf '%s\n' "${wanted[@]}" | sort -u)
  case $ID-$VERSION_ID in
    debian-12)
      agree_to_newer_libraries "${wanted[@]}"
      add_newer_suites 'trixie forky'
      options=(-t trixie)
      ;;
    debian-13) case " ${wanted[*]} " in *forky*) add_newer_suites forky ;; esac ;;
    debian-* | ubuntu-24.04 | ubuntu-2[5-9]*) ;;
    *) say "setup: $ID $VERSION_ID is not tried; trying its own packages" ;;
  esac
  say "installing with apt: ${wanted[*]}"
  apt_installs || {
    say "that failed; once more with new lists of packages"
    apt_installs || die "setup: apt could not install: ${wanted[*]} (its words are above)"
  }
}

# With the options and wanted packages of install_packages. A mirror that is being written to gives lists that do not fit
# each other for a moment.
apt_installs() {
  quietly build/apt.log as_root apt-get update -q -o Acquire::Retries=3 &&
    quietly build/apt.log as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q -o Acquire::Retries=3 \
      --no-install-recommends "${options[@]}" "${wanted[@]}"
}

agree_to_newer_libraries() {
  [ -e "$newer_suites" ] && return
  say "Debian 12's compiler is too old for C++23. These come from Debian 13 (headers of Glaze from the suite after it):"
  say "  $*"
  say "Debian 13's libc, OpenSSL and friends come along and replace Debian 12's on this machine."
  [ -t 0 ] && [ -z "${COTRAIN_YES:-}${CI:-}" ] || return 0
  local answer
  read -r -p 'Go on? [y/N] ' answer
  case $answer in y | Y | yes) ;; *) die "setup: stopped; a container or a chroot with Debian 13 needs no such change" ;; esac
}

# Adds Debian suites at low priority, from wherever this machine gets its packages now.
add_newer_suites() {
  local mirror suite
  ! grep -qs "^Suites:.*${1##* }" "$newer_suites" || return 0
  mirror=$(apt_mirror)
  [ -n "$mirror" ] || die "setup: no Debian mirror found in /etc/apt"
  printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' \
    "$mirror" "$1" | as_root tee "$newer_suites" >/dev/null
  for suite in $1; do
    printf 'Package: *\nPin: release n=%s\nPin-Priority: %s\n\n' "$suite" "$([ "$suite" = trixie ] && echo 100 || echo 50)"
  done | as_root tee /etc/apt/preferences.d/cotrain-newer >/dev/null
}

apt_mirror() {
  local from
  from=$(sed -nE 's/^URIs: *([^ ]+).*/\1/p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | grep -v security | head -1)
  [ -n "$from" ] || from=$(sed -nE 's/^deb +(\[[^]]*\] +)?([^ ]+) .*/\2/p' /etc/apt/sources.list 2>/dev/null | grep -v security | head -1)
  printf '%s' "$from"
}
