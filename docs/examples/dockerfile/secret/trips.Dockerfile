FROM python:3.12-slim-bookworm
ENV HF_TOKEN=hf_EXAMPLEexampleEXAMPLEexampleEXAMPLEex
RUN pip install --no-cache-dir huggingface-hub==0.27.0
