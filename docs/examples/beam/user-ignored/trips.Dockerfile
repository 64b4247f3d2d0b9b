# imgforge check --target dataflow
FROM apache/beam_python3.12_sdk:2.70.0
USER 65532:65532
