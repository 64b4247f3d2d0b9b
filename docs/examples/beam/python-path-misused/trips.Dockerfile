FROM apache/beam_python3.12_sdk:2.70.0
ENV PYTHON_PATH=/app:/app/lib
