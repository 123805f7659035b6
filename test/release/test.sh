#!/usr/bin/env bash
# Installs what a release has as its users do, in bare roots, and runs it there (root; packages come from the distribution's mirror).
#   test/release/test.sh [VERSION [ARCHITECTURE…]]   makes a trial release of that version first (0.0.0-trial.1, amd64 and arm64)
# Alpine and Fedora are not among the roots: their mirrors are not everywhere. The empty root, and rpm in one, stand for them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common libraries; do . "tools/dev/$part.sh"; done
[ "$(id -u)" = 0 ] || die 'test/release/test.sh needs root for chroots'
version=${1:-0.0.0-trial.1}
architectures=("${@:2}")
[ $# -ge 2 ] || architectures=(amd64 arm64)
COTRAIN_SIGNING_KEY=$(mktemp)
export COTRAIN_SIGNING_KEY
work=$(mktemp -d)
trap 'rm -rf "$work" "$COTRAIN_SIGNING_KEY"' EXIT
checks=0
fail() { printf 'test/release: %s\n' "$*" >&2; exit 1; }
passed() { checks=$((checks + 1)); }
says_version() { [ "$("$@" version)" = "cotrain $version" ] || fail "'$* version' says $("$@" version)"; passed; }

openssl ecparam -name prime256v1 -genkey -noout -out "$COTRAIN_SIGNING_KEY"
./dev release "$version" "${architectures[@]}"
files=$PWD/build/release-files
base=cotrain_$version

# Sums and their signature, as SECURITY.md tells to check them.
(cd "$files" && sha256sum --quiet -c SHA256SUMS) || fail 'a sum differs'
openssl ec -in "$COTRAIN_SIGNING_KEY" -pubout -out "$work/key.pub" 2>/dev/null
for each in SHA256SUMS provenance.intoto.json; do
  base64 -d "$files/$each.sig" >"$work/sig"
  openssl dgst -sha256 -verify "$work/key.pub" -signature "$work/sig" "$files/$each" >/dev/null || fail "the signature of $each"
  passed
done
python3 - "$files" "${architectures[@]}" <<'PY' || fail 'provenance, or an OCI archive, is not what it says'
import hashlib, json, sys, tarfile, pathlib
files = pathlib.Path(sys.argv[1])
said = json.loads((files / "provenance.intoto.json").read_text())
for each in said["subject"]:
    assert hashlib.sha256((files / each["name"]).read_bytes()).hexdigest() == each["digest"]["sha256"], each
def walk(archive, descriptor, seen):
    blob = archive.extractfile("./blobs/sha256/" + descriptor["digest"].split(":")[1]).read()
    assert hashlib.sha256(blob).hexdigest() == descriptor["digest"].split(":")[1] and len(blob) == descriptor["size"], descriptor
    if descriptor["mediaType"].endswith(("index.v1+json", "manifest.v1+json")):
        document = json.loads(blob)
        for each in document.get("manifests", []) + document.get("layers", []) + [document[key] for key in ("config",) if key in document]:
            walk(archive, each, seen)
        if "platform" in descriptor: seen.append(descriptor["platform"]["architecture"])
for name, architectures in ((next(files.glob("cotrain_*_image.tar")), sys.argv[2:]), (next(files.glob("*.oci.tar")), [])):
    with tarfile.open(name) as archive:
        seen = []
        for each in json.load(archive.extractfile("./index.json"))["manifests"]: walk(archive, each, seen)
        assert sorted(seen) == architectures, (name, seen)
PY
passed

# Any Linux: the program alone, in a root that has nothing else.
mkdir -p "$work/empty/tmp"
tar -xzf "$files/${base}_linux_amd64.tar.gz" -C "$work"
cp "$work/${base}_linux_amd64/cotrain" "$work/empty/"
cp -r "$work/${base}_linux_amd64/examples" "$work/${base}_linux_amd64/deploy" "$work/empty/"
says_version chroot "$work/empty" /cotrain
chroot "$work/empty" /cotrain render -f /examples/torch.yaml -o summary | grep -q 'job node: 2 pods' || fail 'render in an empty root'
chroot "$work/empty" /cotrain validate -f /examples -f /deploy/runtimes >/dev/null 2>&1 || fail 'the examples in an empty root'
chroot "$work/empty" /cotrain demo >"$work/demo" 2>&1 || { cat "$work/demo" >&2; fail 'the demo in an empty root'; }
passed

# Debian 12 and 13, Ubuntu 24.04: installed by their own tools, with nothing that the package would pull in.
(cd "$work" && private_apt trixie deb download ubuntu-keyring 2>"$work/log") || { cat "$work/log" >&2; fail "Ubuntu's keys"; }
dpkg-deb -x "$work"/ubuntu-keyring_*.deb "$work/keys"
for suite in bookworm trixie noble; do
  mirror="$(apt_mirror) $suite main" keys=/usr/share/keyrings/debian-archive-keyring.gpg
  [ $suite != noble ] || mirror='http://archive.ubuntu.com/ubuntu noble main' keys=$work/keys/usr/share/keyrings/ubuntu-archive-keyring.gpg
  mmdebstrap --quiet --variant=apt --include=man-db,bash-completion --keyring="$keys" "$suite" "$work/$suite" "deb $mirror" \
    >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "a root of $suite"; }
  cp "$files/${base}_linux_amd64.deb" "$work/$suite/tmp/cotrain.deb"
  chroot "$work/$suite" apt-get install -y -q /tmp/cotrain.deb >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "apt on $suite"; }
  grep -q '^0 upgraded, 1 newly installed' "$work/log" || fail "the package pulls others in on $suite"
  says_version chroot "$work/$suite" cotrain
  chroot "$work/$suite" cotrain demo >"$work/demo" 2>&1 || { cat "$work/demo" >&2; fail "the demo on $suite"; }
  chroot "$work/$suite" man -w cotrain-render >/dev/null || fail "no man page on $suite"
  chroot "$work/$suite" bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader cotrain; complete -p cotrain' >/dev/null || fail "no completion on $suite"
  passed
  chroot "$work/$suite" apt-get remove -y -q cotrain >/dev/null 2>&1
  [ ! -e "$work/$suite/usr/bin/cotrain" ] || fail 'the package does not go'
  passed
done

# Fedora and its kin: the package's database is made in an empty root.
mkdir -p "$work/rpm"
rpm --root "$work/rpm" --initdb
rpm --root "$work/rpm" --install "$files/${base}_linux_amd64.rpm" || fail 'rpm --install'
says_version chroot "$work/rpm" /usr/bin/cotrain
[ -z "$(rpm -qp --requires "$files/${base}_linux_amd64.rpm" | grep -v '^rpmlib(')" ] || fail 'the rpm requires packages'
passed

# The chart is the release's.
helm=$(test/deploy/build.sh | tail -n 1)
"$helm" template t "$files/cotrain-chart_$version.tgz" >"$work/chart.yaml"
grep -q "image: ghcr.io/cotrain/cotrain:v$version" "$work/chart.yaml" || fail "the chart's image"
passed
printf 'test/release: %s checks passed\n' "$checks"
