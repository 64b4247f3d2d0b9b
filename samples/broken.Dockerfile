# A worker for Dataflow with a GPU, written by hand. It builds, and it never starts.
FROM nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-pip
RUN pip install --no-cache-dir tensorflow==2.15.1 apache-beam[gcp]==2.69.0
COPY --from=apache/beam_python3.10_sdk:2.66.0 /opt/apache/beam /opt/apache/beam
ENTRYPOINT ["/opt/apache/beam/boot"]
