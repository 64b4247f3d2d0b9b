FROM apache/beam_python3.12_sdk_distroless:2.70.0
RUN pip install --no-cache-dir h3==4.1.2
