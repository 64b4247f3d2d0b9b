FROM ubuntu:20.04
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates curl python3 python3-distutils
RUN curl -fsSL https://bootstrap.pypa.io/get-pip.py | python3
