# One program in an image: docker build --build-arg PROGRAM=foresail-exporter -t foresail-exporter:0.1.0 .
FROM rust:1.95-bookworm AS build
ARG PROGRAM
WORKDIR /src
COPY . .
RUN cargo build --release --locked --bin "$PROGRAM" && cp "target/release/$PROGRAM" /program

# glibc is needed: the exporter opens NVIDIA's library at run time.
FROM debian:bookworm-slim
COPY --from=build /program /program
USER 65532:65532
ENTRYPOINT ["/program"]
