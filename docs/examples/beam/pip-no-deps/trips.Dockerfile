FROM apache/beam_python3.12_sdk:2.70.0
ENV PIP_NO_DEPS=1
RUN pip install h3==4.1.2
