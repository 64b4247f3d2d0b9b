FROM apache/beam_python3.12_sdk:2.70.0
RUN pip install --no-cache-dir h3==4.1.2
