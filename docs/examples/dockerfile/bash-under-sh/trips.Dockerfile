FROM python:3.12-slim-bookworm
ARG EXTRA=h3
RUN [[ "$EXTRA" == h3 ]] && pip install --no-cache-dir h3==4.1.2
