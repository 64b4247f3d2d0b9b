FROM python:3.12-slim-bookworm
RUN pip install --no-cache-dir 'apache-beam[gcp]==2.70.0'
ARG BEAM=2.70.0
COPY --from=apache/beam_python3.12_sdk:${BEAM} /opt/apache/beam /opt/apache/beam
ENTRYPOINT ["/opt/apache/beam/boot"]
