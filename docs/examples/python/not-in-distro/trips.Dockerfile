FROM ubuntu:24.04
RUN apt-get update && apt-get install -y --no-install-recommends python3.11 python3.11-venv
