FROM python:3.11-slim-bookworm
RUN pip install --no-cache-dir 'apache-beam[gcp]==2.70.0'
RUN python --version | grep -F 'Python 3.12.'
COPY --from=apache/beam_python3.11_sdk:2.70.0 /opt/apache/beam /opt/apache/beam
ENTRYPOINT ["/opt/apache/beam/boot"]
