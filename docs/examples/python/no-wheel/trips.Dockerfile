FROM python:3.13-slim-bookworm
RUN pip install --no-cache-dir torch==2.4.1
