FROM python:3.12-slim-bookworm
RUN pip install --no-cache-dir h3==4.1.2 \
    && pip check
