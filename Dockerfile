# The server in a container: docs/server.md, "In a container".
#
#   docker build --tag tickwire .
#   docker run --rm --publish 3000:3000 --env TICKWIRE_ADMIN_TOKEN tickwire

FROM rust:1.95-bookworm AS build
WORKDIR /source
COPY . .
# The web pages and tickwire.wasm are committed, and become part of the program.
RUN cargo build --profile dist --locked --bin tickwire

FROM debian:12-slim
RUN useradd --system --no-create-home --shell /usr/sbin/nologin tickwire \
    && install --directory --owner=tickwire --group=tickwire --mode=0700 /data
COPY --from=build /source/target/dist/tickwire /usr/local/bin/tickwire
# Captures and saved worlds go to the working directory.
WORKDIR /data
VOLUME /data
USER tickwire
ENV TICKWIRE_BIND=0.0.0.0:3000
# People play here; --bots 12 adds bots while few do.
ENV TICKWIRE_BOTS=0
# UDP is for lanes: --lane and --udp-public.
EXPOSE 3000 3000/udp
# The program is its own client: it connects, upgrades, closes, and exits with 0. The image needs no curl.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
    CMD ["tickwire", "connect", "ws://127.0.0.1:3000/play"]
# SIGTERM closes all clients with code 1001, within two seconds; with --drain-seconds, after the drain (docs/fleet.md).
STOPSIGNAL SIGTERM
ENTRYPOINT ["tickwire"]
