FROM debian:12-slim
RUN python3.12 -m pip install --no-cache-dir h3==4.1.2
