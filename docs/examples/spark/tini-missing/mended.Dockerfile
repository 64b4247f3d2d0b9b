# imgforge check --target spark-serverless
FROM debian:12-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 procps tini \
 && rm -rf /var/lib/apt/lists/*
RUN groupadd --gid 1099 spark && useradd --uid 1099 --gid 1099 --create-home spark
USER spark
