FROM python:3.12-slim-bookworm AS build
RUN pip install --no-cache-dir --prefix=/install regex==2024.11.6

FROM python:3.12-slim-bookworm
COPY --from=build /install /usr/local
