FROM apache/beam_python3.12_sdk:2.70.0
ENV APP_ID=sdk-7
