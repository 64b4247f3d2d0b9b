# imgforge check --accelerator nvidia-l4
FROM python:3.12-slim-bookworm
ENV LD_LIBRARY_PATH=/usr/local/nvidia/lib64
RUN pip install --no-cache-dir 'apache-beam[gcp]==2.70.0' 'jax[cuda13]==0.8.0'
COPY --from=apache/beam_python3.12_sdk:2.70.0 /opt/apache/beam /opt/apache/beam
ENTRYPOINT ["/opt/apache/beam/boot"]
