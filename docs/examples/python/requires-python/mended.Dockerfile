FROM python:3.11-slim-bookworm
RUN pip install --no-cache-dir jax==0.7.0
