FROM ubuntu:24.04
ENV PIP_BREAK_SYSTEM_PACKAGES=1
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-pip
RUN pip3 install --no-cache-dir h3==4.1.2
