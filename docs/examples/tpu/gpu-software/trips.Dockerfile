FROM nvidia/cuda:12.2.2-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-pip python3-venv python-is-python3 && rm -rf /var/lib/apt/lists/*
RUN pip3 install --no-cache-dir 'apache-beam[gcp]==2.70.0' 'jax[tpu]==0.6.2'
ENV TPU_SKIP_MDS_QUERY=1 \
    TPU_HOST_BOUNDS=1,1,1 \
    TPU_WORKER_HOSTNAMES=localhost \
    TPU_WORKER_ID=0 \
    TPU_ACCELERATOR_TYPE=v5litepod-4 \
    TPU_CHIPS_PER_HOST_BOUNDS=2,2,1
COPY --from=apache/beam_python3.10_sdk:2.70.0 /opt/apache/beam /opt/apache/beam
ENTRYPOINT ["/opt/apache/beam/boot"]
