FROM python:3.12-slim-bookworm
RUN pip install --no-cache-dir 'apache-beam[gcp]==2.70.0' 'jax[tpu]==0.7.1' -f https://storage.googleapis.com/jax-releases/libtpu_releases.html
ENV TPU_SKIP_MDS_QUERY=1 \
    TPU_HOST_BOUNDS=1,1,1 \
    TPU_WORKER_HOSTNAMES=localhost \
    TPU_WORKER_ID=0 \
    TPU_ACCELERATOR_TYPE=v5litepod-4 \
    TPU_CHIPS_PER_HOST_BOUNDS=2,2,1
RUN rm -rf /opt/libtpu.so
ENV TPU_LIBRARY_PATH=/opt/libtpu.so
COPY --from=apache/beam_python3.12_sdk:2.70.0 /opt/apache/beam /opt/apache/beam
ENTRYPOINT ["/opt/apache/beam/boot"]
