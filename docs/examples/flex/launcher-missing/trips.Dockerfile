# imgforge check --target dataflow-flex
FROM apache/beam_python3.12_sdk:2.70.0
COPY pipeline.py /template/
ENV FLEX_TEMPLATE_PYTHON_PY_FILE=/template/pipeline.py
