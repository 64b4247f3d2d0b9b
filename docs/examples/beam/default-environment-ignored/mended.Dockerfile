FROM python:3.11-slim-bookworm
RUN pip install --no-cache-dir 'apache-beam[gcp]==2.48.0'
ENV RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT=1
COPY --from=apache/beam_python3.11_sdk:2.48.0 /opt/apache/beam /opt/apache/beam
ENTRYPOINT ["/opt/apache/beam/boot"]
