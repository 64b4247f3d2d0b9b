FROM apache/beam_python3.12_sdk:2.70.0 AS worker
RUN pip install --no-cache-dir h3==4.1.2

FROM worker AS shell
ENTRYPOINT ["/bin/bash"]
