FROM apache/beam_python3.12_sdk:2.70.0
RUN PIP_NO_DEPS=1 pip install h3==4.1.2
