FROM python:3.12-slim-bookworm
ENV WORKERS=1 # one is enough
