FROM python:3.12-slim-bookworm
RUN pip install --no-cache-dir 'apache-beam[gcp]==2.70.0'
ENTRYPOINT ["/opt/apache/beam/boot"]
