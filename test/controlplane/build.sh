#!/bin/bash
# Builds the real Kubernetes parts that tests run against, once, into a cache outside of the tree.
#
#   build.sh [TARGET...]   builds what is missing; the last line of standard output is the directory of the binaries
#     base        (default) controlplane and typed; etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl,
#                 kubelet, kube-proxy; with KUBEBUILDER_ASSETS set, the first two only
#     jobset      the JobSet controller
#     reference   the trainer controller that ours replaces
#   build.sh path          the last line is the directory of definitions (CRDs) and webhook manifests
#   build.sh test          builds base and jobset (KUBEBUILDER_ASSETS or not), then runs the launcher's own tests
#
# COTRAIN_CACHE  where to (~/.cache/cotrain); COTRAIN_JOBS  compilers at the same time (one per processor)
# COTRAIN_TEST_KUBERNETES=1.36  base with kube-apiserver and kube-scheduler of that older version (test/versions names
#                them), in a directory of its own: the rest is the same
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
reference=$here/../reference
. "$here/../../tools/dev/versions.sh"
cache=${COTRAIN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cotrain}
jobs=${COTRAIN_JOBS:-$(nproc)}
older=${COTRAIN_TEST_KUBERNETES:-}
module=$here
work=
builder=

say() { printf 'test/controlplane: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

clean_up() {
    local code=$?
    [[ -z $builder ]] || kill -- "-$builder" 2>/dev/null || true
    [[ -z $work ]] || rm -rf "$work"
    exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# digest FILE...: of contents, so that it is the same for every checkout
digest() { cat "$@" | sha256sum | cut -c1-16; }

sources_of_launcher() { find "$here/cmd/controlplane" "$here/internal" -name '*.go' ! -name '*_test.go' | sort; }

find_go() {
    local candidate found
    for candidate in "$(command -v go || true)" /usr/local/go/bin/go "$cache/go/bin/go"; do
        if [[ -x $candidate ]]; then
            found=$(cd "$here" && "$candidate" env GOVERSION 2>&1 | tail -n 1) || true
            if [[ $found =~ ^go1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= 26)); then
                go=$candidate
                return
            fi
        fi
    done
    [[ -n ${found:-} ]] || die "Go is missing, it builds the Kubernetes binaries for tests: run ./dev setup"
    die "Go 1.26 or newer is needed, found: $found: run ./dev setup"
}

# show TEXT: a line that replaces itself on a terminal, elsewhere a line every ten seconds
last_shown=-10
show() {
    if [[ -t 2 ]]; then
        printf '\r\033[Ktest/controlplane: %s' "$*" >&2
    elif ((SECONDS - last_shown >= 10)); then
        say "$*"
        last_shown=$SECONDS
    fi
}

# watched WHAT COMMAND...: runs the command in $module with progress read from its -v output, and explains a failure
watched() {
    local what=$1 began=$SECONDS fetched compiled total
    shift
    (cd "$module" && exec setsid "$@") 2>>"$work/log" 9>&- &
    builder=$!
    while kill -0 "$builder" 2>/dev/null; do
        fetched=$(grep -c '^go: downloading' "$work/log" || true)
        compiled=$(grep -vc '^go: ' "$work/log" || true)
        total=$(wc -l <"$work/packages")
        if ((compiled > 0)); then
            show "$what: compiled $compiled of at most $total packages, $((SECONDS - began)) s"
        elif ((fetched > 0)); then
            show "$what: fetched $fetched modules, $((SECONDS - began)) s"
        fi
        sleep 0.2
    done
    local code=0
    wait "$builder" || code=$?
    builder=
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
    ((code != 0)) || return 0
    grep -v -e '^go: downloading' -e '^[-a-zA-Z0-9_./]*$' "$work/log" | tail -n 5 >&2 || true
    if grep -q -e 'dial tcp' -e 'no such host' -e 'i/o timeout' "$work/log"; then
        die "$what: the Go module proxy cannot be reached; this needs a network once, or another GOPROXY"
    fi
    die "$what: the build failed, see above"
}

# built NAME: is there one in this directory, or one of the same key in another version's?
built() {
    local name=$1 key=$2 other
    [[ ! -x $dir/bin/$name ]] || return 0
    for other in "$cache"/kube-*/keys/"$name"; do
        if [[ -f $other && $(<"$other") == "$key" && -x ${other%/keys/*}/bin/$name ]]; then
            ln "${other%/keys/*}/bin/$name" "$work/$name" 2>/dev/null || cp "${other%/keys/*}/bin/$name" "$work/$name"
            install_binary "$name" "$key"
            return 0
        fi
    done
    return 1
}

install_binary() {
    echo "$2" >"$dir/keys/$1"
    mv -f "$work/$1" "$dir/bin/$1"
    # Versions that nobody has used for a month.
    find "$cache" -maxdepth 1 -name 'kube-*' -mtime +30 -exec rm -rf {} +
}

# binary NAME KEY PACKAGE [FLAG...]: builds it unless it is there
binary() {
    local name=$1 key=$2 package=$3 began=$SECONDS
    shift 3
    ! built "$name" "$key" || return 0
    find_go
    : >"$work/log"
    : >"$work/packages"
    local -x CGO_ENABLED=0 GOTMPDIR=$work
    watched "$name" "$go" list -deps "$package" >"$work/packages"
    : >"$work/log"
    watched "$name" "$go" build -p "$jobs" -v -buildvcs=false -o "$work/$name" "$@" "$package"
    install_binary "$name" "$key"
    say "$name: built in $((SECONDS - began)) s"
}

build_launcher() {
    binary controlplane "$(digest $(sources_of_launcher))" ./cmd/controlplane -ldflags '-s -w'
}

build_base() {
    build_launcher
    of_reference typed ./typed
    build_definitions
    if [[ -n ${KUBEBUILDER_ASSETS:-} ]]; then
        local name
        for name in etcd kube-apiserver; do
            [[ -x $KUBEBUILDER_ASSETS/$name ]] ||
                die "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS has no $name: unset it to build one, or correct it"
        done
        return
    fi
    binary kube "$(digest "$here"/go.{mod,sum} "$here"/cmd/kube/*.go)" ./cmd/kube \
        -ldflags "$(stamped "$(version_of k8s.io/kubernetes controlplane)")"
    local name
    for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kubelet kube-proxy; do
        [[ -e $dir/bin/$name ]] || ln -sfn kube "$dir/bin/$name"
    done
}

# stamped VERSION: what the linker writes into a Kubernetes; without it, clients refuse to parse the server's version.
stamped() {
    local minor=${1#v1.} stamp=k8s.io/component-base/version
    echo "-s -w -X $stamp.gitVersion=$1 -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*}"
}

# module_of_older VERSION: $work/older, a module of nothing but these two; the checksum database vouches for its modules
module_of_older() {
    local file
    module=$work/older
    mkdir -p "$module"
    cp "$here/older/main.go" "$module"
    file=$(cd "$here" && "$go" mod download -json "k8s.io/kubernetes@$1" | sed -n 's/^.*"GoMod": "\(.*\)".*/\1/p')
    [[ -f $file ]] || die "k8s.io/kubernetes@$1: the Go module proxy does not have it or cannot be reached"
    {
        printf 'module cotrain.dev/controlplane/older\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes %s\n' "$1"
        sed -n 's|^\t\(k8s.io/[^ ]*\) => .*|replace \1 => \1 v0.'"${1#v1.}|p" "$file"
    } >"$module/go.mod"
}

# build_older: a directory like bin, but with the older server and scheduler
build_older() {
    local version key name beside=$dir/$older gates=
    version=$(versions_of k8s.io/kubernetes controlplane/older | grep "^v$older\.")
    # 1.30 and 1.31 have no WatchList: the oldest stands for them.
    [[ $older != 1.32 ]] || gates=WatchList=false
    key=$(digest "$here/older/main.go" <(echo "$version $gates"))
    name=kube-apiserver-$older-$key
    if ! built "$name" "$key"; then
        find_go
        module_of_older "$version"
        GOFLAGS=-mod=mod binary "$name" "$key" . -ldflags "$(stamped "$version") -X main.gates=$gates"
        module=$here
    fi
    mkdir -p "$beside"
    for name in "$dir"/bin/*; do
        [[ $name != */kube-apiserver-* ]] || continue
        # Not a symbolic link where a program looks for others beside itself.
        [[ -L $name ]] && ln -sfn "../bin/kube" "$beside/${name##*/}" || ln -f "$name" "$beside/${name##*/}"
    done
    for name in kube-apiserver kube-scheduler; do ln -sfn "../bin/kube-apiserver-$older-$key" "$beside/$name"; done
    result=$beside
}

build_jobset() {
    build_definitions
    binary jobset "$(digest "$here"/go.{mod,sum})" sigs.k8s.io/jobset -ldflags '-s -w'
}

build_reference() {
    build_definitions
    of_reference trainer-controller-manager github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager
}

# of_reference NAME PACKAGE: of the module that has the reference and the Kubernetes libraries it compiles with
of_reference() {
    module=$reference
    binary "$1" "$(digest "$reference"/go.{mod,sum} "$reference"/typed/*.go)" "$2" -ldflags '-s -w'
    module=$here
}

# Definitions and webhook manifests come with the modules; copied so that nobody needs Go to find them.
build_definitions() {
    [[ ! -d $dir/crds ]] || return 0
    find_go
    local jobset trainer scheduler to=$work/crds
    jobset=$(module_files sigs.k8s.io/jobset controlplane)
    trainer=$(module_files github.com/kubeflow/trainer/v2)
    scheduler=$(module_files sigs.k8s.io/scheduler-plugins)
    [[ -d $jobset && -d $trainer && -d $scheduler ]] ||
        die "definitions: the Go module proxy cannot be reached; this needs a network once, or another GOPROXY"
    mkdir -p "$to/webhooks" "$to/trainer"
    install -m 644 "$jobset/config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml" "$to/jobset.yaml"
    install -m 644 "$jobset/config/components/webhook/manifests.yaml" "$to/webhooks/jobset.yaml"
    install -m 644 "$scheduler/manifests/coscheduling/crd.yaml" "$to/podgroup-scheduler-plugins.yaml"
    install -m 644 "$trainer"/manifests/base/crds/trainer.kubeflow.org_*.yaml "$to/trainer/"
    install -m 644 "$trainer/manifests/base/webhook/manifests.yaml" "$to/webhooks/trainer.yaml"
    mv "$to" "$dir/crds"
}

run_tests() {
    unset KUBEBUILDER_ASSETS # the tests set it themselves, and need more than it has
    build_base
    build_jobset
    find_go
    export CGO_ENABLED=0 COTRAIN_KUBE_BIN=$dir/bin
    exec 9>&- # the build is over
    cd "$here"
    "$go" vet ./cmd/controlplane ./internal/...
    "$go" test -count=1 ./cmd/controlplane ./internal/...
}

older_minors() { versions_of k8s.io/kubernetes controlplane/older | sed -E 's/^v([0-9]+\.[0-9]+).*/\1/'; }
usage() { say "$*"; exit 2; }
[[ -z $older ]] || older_minors | grep -qx "$older" ||
    usage "COTRAIN_TEST_KUBERNETES=$older: there are $(older_minors | xargs); unset it for the newest"
[[ -z $older || -z ${KUBEBUILDER_ASSETS:-} ]] ||
    usage "COTRAIN_TEST_KUBERNETES and KUBEBUILDER_ASSETS both name a kube-apiserver: unset one"
[[ $jobs =~ ^[1-9][0-9]*$ ]] || usage "COTRAIN_JOBS=$jobs: give a number of compilers"
(($# > 0)) || set -- base
for target; do
    case $target in
    base | jobset | reference | path | test) ;;
    help | -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) usage "no target '$target'; there are base, jobset, reference, path, test" ;;
    esac
done

dir=$cache/kube-$(digest {"$here","$reference"}/go.{mod,sum} "$here"/cmd/kube/*.go "$reference"/typed/*.go $(sources_of_launcher))
mkdir -p "$dir/bin" "$dir/keys" 2>/dev/null || die "cannot write to $cache; set COTRAIN_CACHE to a directory that can be written"
exec 9>"$cache/controlplane.lock"
if ! flock -n 9; then
    say "another build is running; waiting for it"
    flock 9
fi
find "$dir" -maxdepth 1 -name 'work.*' -mmin +600 -exec rm -rf {} + # of builds that were killed
work=$(mktemp -d "$dir/work.XXXXXX")
touch "$dir"
result=$dir/bin
for target; do
    case $target in
    path) build_definitions; result=$dir/crds ;;
    test) run_tests; result= ;;
    *) "build_$target" ;;
    esac
done
[[ -z $older || $result != "$dir/bin" ]] || build_older
[[ -z $result ]] || echo "$result"
