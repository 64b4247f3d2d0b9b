FROM python:3.12-slim-bookworm
RUN pip install --no-cache-dir 'apache-beam[gcp]==2.70.0'
COPY --chmod=0755 <<"EOF" /start.sh
#!/bin/sh
export OMP_NUM_THREADS=1
exec /opt/apache/beam/boot "$@"
EOF
COPY --from=apache/beam_python3.12_sdk:2.70.0 /opt/apache/beam /opt/apache/beam
ENTRYPOINT ["/start.sh"]
