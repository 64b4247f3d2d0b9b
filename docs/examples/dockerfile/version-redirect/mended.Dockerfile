FROM python:3.12-slim-bookworm
RUN pip install --no-cache-dir "scikit-learn>=1.5"
