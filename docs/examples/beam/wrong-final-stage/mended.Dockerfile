FROM apache/beam_python3.12_sdk:2.70.0 AS base
RUN pip install --no-cache-dir h3==4.1.2

FROM base AS shell
ENTRYPOINT ["/bin/bash"]

FROM base AS worker
