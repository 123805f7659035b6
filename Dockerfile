# The image for those who have a container engine; `./dev image` makes the same one without.
#   docker build -t cotrain .                  (for arm64, by the cross compiler: docker build --platform linux/arm64 -t cotrain .)
FROM --platform=$BUILDPLATFORM debian:trixie AS build
ARG TARGETARCH
WORKDIR /source
COPY . .
RUN apt-get update -q && apt-get install -y -q --no-install-recommends ca-certificates git \
 && COTRAIN_YES=1 ./dev image "$TARGETARCH" \
 && mkdir -p /root-of-image/tmp && chmod 1777 /root-of-image/tmp \
 && install -m 0755 "build/image/manager-linux-$TARGETARCH" /root-of-image/manager \
 && ln -s manager /root-of-image/cotrain

FROM scratch
COPY --from=build /root-of-image/ /
ENV PATH=/
WORKDIR /
USER 65532:65532
ENTRYPOINT ["/manager"]
