FROM ubuntu:24.04
RUN apt-get update && apt-get install -y --no-install-recommends python3.12 python3.12-venv
