FROM apache/beam_python3.12_sdk:latest
COPY pipeline.py /app/
