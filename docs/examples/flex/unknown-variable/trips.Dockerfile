FROM gcr.io/dataflow-templates-base/python312-template-launcher-base:20250220-rc00 AS launcher
FROM apache/beam_python3.12_sdk:2.70.0
COPY --from=launcher /opt/google/dataflow/python_template_launcher /opt/google/dataflow/python_template_launcher
COPY pipeline.py /template/
ENV FLEX_TEMPLATE_PY_FILE=/template/pipeline.py
