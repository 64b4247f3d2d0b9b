FROM nvidia/cuda:11.6.0-cudnn8-runtime-ubuntu20.04
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 python3-pip python3-venv python-is-python3 \
 && rm -rf /var/lib/apt/lists/*
RUN pip3 install --no-cache-dir 'apache-beam[gcp]==2.48.0' 'tensorflow==2.9.3'
COPY --from=apache/beam_python3.8_sdk:2.48.0 /opt/apache/beam /opt/apache/beam
ENTRYPOINT ["/opt/apache/beam/boot"]
