FROM python:3.12-alpine AS build
RUN pip install --no-cache-dir regex==2024.11.6

FROM python:3.12-slim-bookworm
COPY --from=build /usr/local/lib/python3.12/site-packages /usr/local/lib/python3.12/site-packages
