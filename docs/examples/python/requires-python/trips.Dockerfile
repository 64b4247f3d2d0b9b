FROM python:3.10-slim-bookworm
RUN pip install --no-cache-dir jax==0.7.0
