FROM python:3.12-slim-bookworm
RUN python3.12 -m pip install --no-cache-dir h3==4.1.2
