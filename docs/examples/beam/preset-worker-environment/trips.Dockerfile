FROM apache/beam_python3.12_sdk:2.70.0
ENV WORKER_ID=sdk-7
