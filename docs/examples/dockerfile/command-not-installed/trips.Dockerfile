FROM python:3.12-slim-bookworm
RUN curl -fsSL -o /labels.json https://storage.googleapis.com/my-bucket/labels.json
