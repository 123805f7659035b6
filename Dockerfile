# The image for those who have a container engine; `./dev image` makes the same one without.
#   docker build -t cotrain .                  (for arm64, by cross compiler: docker build --platform linux/arm64 -t cotrain .)
FROM --platform=$BUILDPLATFORM debian:bookworm-slim@sha256:7c7b2c966bc9ee8cedfeef67e0e279108992c77681fa595db4a9d65c06ccc587 AS build
ARG TARGETARCH
WORKDIR /source
COPY . .
RUN apt-get update -q && apt-get install -y -q --no-install-recommends ca-certificates git \
 && ./dev image "$TARGETARCH" \
 && mkdir -p /root-of-image/tmp && chmod 1777 /root-of-image/tmp \
 && install -m 0755 "build/image/manager-linux-$TARGETARCH" /root-of-image/manager \
 && ln -s manager /root-of-image/cotrain

FROM scratch
COPY --from=build /root-of-image/ /
ENV PATH=/ GLIBC_TUNABLES=glibc.malloc.tcache_count=128
WORKDIR /
USER 65532:65532
ENTRYPOINT ["/manager"]
