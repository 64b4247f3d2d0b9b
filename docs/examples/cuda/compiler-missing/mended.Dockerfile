FROM nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04
RUN apt-get update \
 && apt-get install -y --no-install-recommends cuda-nvcc-12-2 python3 python3-pip python3-venv python-is-python3 \
 && rm -rf /var/lib/apt/lists/*
RUN pip3 install --no-cache-dir 'apache-beam[gcp]==2.63.0' 'tensorflow==2.15.0'
COPY --from=apache/beam_python3.10_sdk:2.63.0 /opt/apache/beam /opt/apache/beam
ENTRYPOINT ["/opt/apache/beam/boot"]
