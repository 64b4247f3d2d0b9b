FROM python:3.12-slim-bookworm
RUN python -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
RUN pip install --no-cache-dir 'apache-beam[gcp]==2.70.0'
COPY --from=apache/beam_python3.12_sdk:2.70.0 /opt/apache/beam /opt/apache/beam
ENTRYPOINT ["/opt/apache/beam/boot"]
