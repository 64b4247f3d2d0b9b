FROM apache/beam_python3.12_sdk:2.70.0
COPY pipeline.py /app/
