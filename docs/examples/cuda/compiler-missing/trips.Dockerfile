# imgforge check --accelerator nvidia-l4
FROM python:3.11-slim-bookworm
ENV LD_LIBRARY_PATH=/usr/local/nvidia/lib64
RUN pip install --no-cache-dir 'apache-beam[gcp]==2.66.0' vllm==0.8.5
COPY --from=apache/beam_python3.11_sdk:2.66.0 /opt/apache/beam /opt/apache/beam
ENTRYPOINT ["/opt/apache/beam/boot"]
