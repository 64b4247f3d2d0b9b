FROM apache/beam_python3.11_sdk:2.62.0
RUN pip install --no-cache-dir numpy==1.26.4
