# imgforge check --target portable
FROM apache/beam_python3.12_sdk:2.74.0
RUN mkdir -p /opt/apache/beam-venv /app && chown 65532:65532 /opt/apache/beam-venv /app
WORKDIR /app
USER 65532:65532
