# What a release has: programs as archives and packages, image and chart as OCI archives, and what proves them. Sourced by ./dev.

# run_release [VERSION [ARCHITECTURE…]]: from the tag of this commit, or for a trial with the version (and for the architectures)
# given. Leaves build/release-files/.
# COTRAIN_SIGNING_KEY names an EC key (PEM) for the signature of the sums; without one they are not signed.
run_release() {
  local version=${1:-} out=build/release-files work arch images architectures=(amd64 arm64)
  [ $# -lt 2 ] || architectures=("${@:2}")
  need build image release
  if [ -z "$version" ]; then
    version=$(git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null) ||
      die "release: this commit has no tag v1.2.3; 'git tag v…' first, or name a version for a trial"
    [ -z "$(git status --porcelain)" ] || die 'release: files differ from the commit that the tag names'
    version=${version#v}
  fi
  [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || die "release: '$version' is no version such as 1.2.3 or 1.2.3-rc.1"
  image_epoch
  image_version=$version
  work=$(mktemp -d)
  # shellcheck disable=SC2064 # the folder of now
  trap "rm -rf '$work'" EXIT
  rm -rf "$out" && mkdir -p "$out"
  for arch in "${architectures[@]}"; do
    build_static "$arch" "build/release-$arch" "-DCOTRAIN_VERSION=$version" "-DCOTRAIN_COMMIT=$(git rev-parse HEAD)"
    pack_image "$arch" "build/release-$arch"
    cp "build/image/cotrain-linux-$arch.spdx.json" "$out/cotrain_${version}_linux_$arch.spdx.json"
  done
  release_files "$work/files" "$version"
  for arch in "${architectures[@]}"; do
    install -m 0755 "build/release-$arch/stripped/cotrain" "$work/files/usr/bin/cotrain"
    release_archive "$work/files" "$out/cotrain_${version}_linux_$arch.tar.gz"
    release_deb "$work/files" "$version" "$arch" "$out"
    release_rpm "$work/files" "$version" "$arch" "$out"
  done
  images=("${architectures[@]/#/build/image/cotrain-linux-}")
  tools/image/index.sh "$image_version" "$out/cotrain_${version}_image.tar" "${images[@]/%/.tar}"
  release_chart "$work" "$version" "$out"
  release_papers "$version" "$out"
  say "release $version:"
  (cd "$out" && ls -l | awk 'NR > 1 { printf "    %9s  %s\n", $5, $9 }')
}

# release_files DIRECTORY VERSION: what packages install beside the program; it is the same for each architecture.
release_files() {
  local to=$1/usr shell
  local -A completions=([bash]=bash-completion/completions/cotrain [zsh]=zsh/vendor-completions/_cotrain [fish]=fish/vendor_completions.d/cotrain.fish)
  mkdir -p "$to/bin" "$to/share/doc/cotrain" "$to/share/man/man1"
  local here=build/release-amd64/stripped/cotrain
  [ "$(uname -m)" = x86_64 ] || here=build/release-arm64/stripped/cotrain
  for shell in "${!completions[@]}"; do
    mkdir -p "$(dirname "$to/share/${completions[$shell]}")"
    "$here" completion "$shell" >"$to/share/${completions[$shell]}"
  done
  tools/dev/man_pages.sh "$here" "$2" "$to/share/man/man1"
  gzip -n -9 "$to"/share/man/man1/*.1
  cp LICENSE "$to/share/doc/cotrain/copyright"
  cp README.md CHANGELOG.md "$to/share/doc/cotrain/"
  # What the documentation's commands name, with the same paths below share/cotrain.
  mkdir -p "$to"/share/cotrain/{deploy/{crds,runtimes},examples}
  cp deploy/crds/*.yaml "$to/share/cotrain/deploy/crds/"
  cp deploy/runtimes/*-*.yaml "$to/share/cotrain/deploy/runtimes/"
  cp examples/*.yaml "$to/share/cotrain/examples/"
  find "$1" -type d -exec chmod 0755 {} +
  find "$1" -type f -exec chmod 0644 {} +
}

# Sorted, owned by root, of the commit's time.
release_tar() { tar -C "$1" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "${@:2}"; }

# One folder with the program, examples and runtimes at its top: unpack it and run it there.
release_archive() {
  local name
  name=$(basename "$2" .tar.gz)
  mkdir -p "$work/$name"
  cp -a "$1/usr/bin/cotrain" "$1/usr/share/cotrain/." "$1"/usr/share/{bash-completion,zsh,fish,man,doc} "$work/$name/"
  cp LICENSE "$work/$name/"
  release_tar "$work" "$name" | gzip -n -9 >"$2"
}

# release_deb FILES VERSION ARCHITECTURE TO. No dependencies: the program is static.
release_deb() {
  local root=$work/deb-$3
  mkdir -p "$root/DEBIAN"
  cp -a "$1/usr" "$root/"
  # A hyphen in a version would begin the package's revision.
  cat >"$root/DEBIAN/control" <<TEXT
Package: cotrain
Version: ${2/-/\~}
Architecture: $3
Maintainer: Cotrain maintainers <cotrain@users.noreply.github.com>
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Section: admin
Priority: optional
Homepage: https://github.com/cotrain/cotrain
Description: Kubernetes operator for distributed training (TrainJob)
 Turns TrainJobs into JobSets, PodGroups, Secrets and ConfigMaps, instead of the Kubeflow Trainer's controller.
 The program also renders and checks TrainJobs in files, looks at clusters, and measures controllers.
TEXT
  quietly build/release-deb.log dpkg-deb --root-owner-group --uniform-compression -Zxz --build "$root" "$4/cotrain_${2}_linux_$3.deb"
}

# release_rpm FILES VERSION ARCHITECTURE TO
release_rpm() {
  local top=$work/rpm-$3 machine=x86_64
  [ "$3" = amd64 ] || machine=aarch64
  mkdir -p "$top"
  cat >"$top/cotrain.spec" <<TEXT
Name: cotrain
Version: ${2/-/\~}
Release: 1
Summary: Kubernetes operator for distributed training (TrainJob)
License: Apache-2.0
URL: https://github.com/cotrain/cotrain
AutoReqProv: no
%description
Turns TrainJobs into JobSets, PodGroups, Secrets and ConfigMaps, instead of the Kubeflow Trainer's controller.
%install
cp -a $1/usr %{buildroot}/
mv %{buildroot}/usr/share/zsh/vendor-completions %{buildroot}/usr/share/zsh/site-functions
%files -f $top/files
TEXT
  # Files alone: folders belong to the distribution, with modes of its own.
  (cd "$1" && find usr -type f -printf '/%p\n') | sed 's|/zsh/vendor-completions/|/zsh/site-functions/|' | sort >"$top/files"
  quietly build/release-rpm.log rpmbuild -bb --quiet --target "$machine-linux" --define "_topdir $top" --define "_rpmdir $top" \
    --define '_build_id_links none' --define '__strip /bin/true' --define '__os_install_post %{nil}' \
    --define '_buildhost cotrain' --define 'use_source_date_epoch_as_buildtime 1' --define 'clamp_mtime_to_source_date_epoch 1' \
    --define 'build_mtime_policy clamp_to_source_date_epoch' "$top/cotrain.spec"
  mv "$top/$machine"/cotrain-*.rpm "$4/cotrain_${2}_linux_$3.rpm"
}

# The chart with the release's versions, as helm's archive and as an OCI layout.
release_chart() {
  local helm name=cotrain-chart_$2
  helm=$(test/deploy/build.sh | tail -n 1)
  cp -rL deploy/charts/cotrain "$1/chart"  # it has links into deploy/
  find "$1/chart" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  quietly build/release-chart.log "$helm" package "$1/chart" --version "$2" --app-version "$2" -d "$1/packed"
  mkdir -p "$1/unpacked"
  tar -xzf "$1/packed/cotrain-$2.tgz" -C "$1/unpacked"  # helm writes the time of its run
  release_tar "$1/unpacked" cotrain | gzip -n -9 >"$3/$name.tgz"
  tools/image/chart.sh "$3/$name.tgz" "$2" "$3/$name.oci.tar"
}

# Sums, where it all comes from (SLSA provenance), and a signature of both where there is a key.
release_papers() {
  local version=$1 out=$2
  (cd "$out" && sha256sum -- * >SHA256SUMS)
  {
    printf '{"_type":"https://in-toto.io/Statement/v1","subject":['
    awk '{ printf "%s{\"name\":\"%s\",\"digest\":{\"sha256\":\"%s\"}}", (NR > 1 ? "," : ""), $2, $1 }' "$out/SHA256SUMS"
    printf '],"predicateType":"https://slsa.dev/provenance/v1","predicate":{"buildDefinition":{"buildType":"https://github.com/cotrain/cotrain/blob/main/tools/dev/release.sh","externalParameters":{"version":"%s"},"resolvedDependencies":[{"uri":"git+https://github.com/cotrain/cotrain","digest":{"gitCommit":"%s"}}' \
      "$version" "$(git rev-parse HEAD)"
    awk '!/^(#|$)/ { printf ",{\"name\":\"%s %s %s\",\"digest\":{\"sha256\":\"%s\"}}", $3, $4, $2, $5 }' tools/image/pins
    printf ']},"runDetails":{"builder":{"id":"%s"}}}}\n' "${COTRAIN_BUILDER:-local}"
  } >"$out/provenance.intoto.json"
  [ -z "${COTRAIN_SIGNING_KEY:-}" ] || for each in SHA256SUMS provenance.intoto.json; do
    openssl dgst -sha256 -sign "$COTRAIN_SIGNING_KEY" "$out/$each" | base64 -w 0 >"$out/$each.sig"
  done
}
