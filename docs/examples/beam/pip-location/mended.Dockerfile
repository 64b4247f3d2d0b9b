FROM ubuntu:20.04
ENV DEBIAN_FRONTEND=noninteractive
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 python3-pip python-is-python3 \
 && rm -rf /var/lib/apt/lists/*
RUN pip3 install --no-cache-dir 'apache-beam[gcp]==2.28.0'
RUN ln -s /usr/bin/pip3 /usr/local/bin/pip
COPY --from=apache/beam_python3.8_sdk:2.28.0 /opt/apache/beam /opt/apache/beam
ENTRYPOINT ["/opt/apache/beam/boot"]
