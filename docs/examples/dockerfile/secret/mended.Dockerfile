FROM python:3.12-slim-bookworm
RUN --mount=type=secret,id=hf_token pip install --no-cache-dir huggingface-hub==0.27.0
