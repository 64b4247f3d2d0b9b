ARG BEAM=2.70.0
FROM apache/beam_python3.12_sdk:${BEAM} AS sdk
FROM python:3.12-slim-bookworm
ARG BEAM
RUN pip install --no-cache-dir "apache-beam[gcp]==${BEAM}"
COPY --from=sdk /opt/apache/beam /opt/apache/beam
ENTRYPOINT ["/opt/apache/beam/boot"]
