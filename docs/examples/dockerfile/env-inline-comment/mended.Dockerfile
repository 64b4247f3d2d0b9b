FROM python:3.12-slim-bookworm
# one is enough
ENV WORKERS=1
