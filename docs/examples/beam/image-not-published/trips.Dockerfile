FROM apache/beam_python312_sdk:2.70.0
COPY pipeline.py /app/
