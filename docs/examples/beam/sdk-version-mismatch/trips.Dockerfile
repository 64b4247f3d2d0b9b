FROM python:3.12-slim-bookworm
RUN pip install --no-cache-dir 'apache-beam[gcp]==2.69.0'
COPY --from=apache/beam_python3.12_sdk:2.66.0 /opt/apache/beam /opt/apache/beam
ENTRYPOINT ["/opt/apache/beam/boot"]
