"""A registry that speaks HTTP/2: nginx with TLS in front of docker-registry, several layers at once."""

import contextlib
import json
import os

import pytest

import bed
import made

STAND_IN = "a small image made by hand, with nothing in it that runs"
LAYERS = 4
FILLER_BYTES = 400_000
BYTES_A_SECOND = "400k"  # so that layers overlap in time

NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  log_format asked '{{"protocol": "$server_protocol", "path": "$uri", "range": "$http_range", "status": $status, '
                   '"end": $msec, "seconds": $request_time, "connection": $connection}}';
  access_log {folder}/access.log asked;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} ssl http2;
    ssl_certificate {certificates.certificate}; ssl_certificate_key {certificates.key};
    location /v2/ {{ proxy_pass http://127.0.0.1:{upstream}; limit_rate {rate}; }}
  }}
}}
"""


class Front:
    def __init__(self, host):
        self.host = host
        self.requests = []  # once it has ended


@contextlib.contextmanager
def nginx(upstream, certificates):
    with bed.temporary_folder() as folder:
        port = bed.free_port()
        config = folder / "nginx.conf"
        config.write_text(NGINX.format(folder=folder, port=port, upstream=upstream.port, certificates=certificates,
                                       rate=BYTES_A_SECOND))
        folder.chmod(0o755)  # workers are of another user
        with bed.running(["nginx", "-c", config, "-e", folder / "error.log"], port, folder / "log"):
            front = Front(f"localhost:{port}")
            yield front
        front.requests = [json.loads(line) for line in (folder / "access.log").read_text().splitlines()]


@pytest.fixture(autouse=True)
def say(say_stand_ins):
    say_stand_ins(STAND_IN)


@pytest.fixture(scope="module")
def upstream():
    with bed.registry() as running:
        yield running


@pytest.fixture(scope="module")
def worker(upstream):
    """Layers of some hundred KB below one that keeps the contract."""
    with bed.temporary_folder() as folder:
        layout, context = folder / "layout", folder / "context"
        bed.run(["umoci", "init", "--layout", layout])
        bed.run(["umoci", "new", "--image", f"{layout}:1"])
        for number in range(LAYERS):
            filler = folder / f"filler{number}"
            filler.write_bytes(os.urandom(FILLER_BYTES))
            bed.run(["umoci", "insert", "--rootless", "--image", f"{layout}:1", filler, f"/filler{number}"])
        context.mkdir()
        made.make_worker(context, "3.11.9", "2.60.0")
        bed.run(["umoci", "insert", "--rootless", "--image", f"{layout}:1", context / "root", "/"])
        bed.run(["umoci", "config", "--image", f"{layout}:1", "--config.entrypoint", "/opt/apache/beam/boot",
                 "--config.env", "PATH=/usr/local/bin:/usr/bin:/bin"])
        bed.copy_image(f"oci:{layout}:1", f"docker://{upstream.host}/worker/http2:1")
    return "worker/http2:1"


@pytest.fixture(scope="module")
def verified(imgforge, upstream, worker, certificates):
    """What was said over HTTP/2, straight from the registry, and what nginx was asked."""
    with nginx(upstream, certificates) as front:
        result = imgforge.verify(f"{front.host}/{worker}", "--no-cache", environment={"SSL_CERT_FILE": str(certificates.ca)})
    return result, imgforge.verify(f"{upstream.host}/{worker}", "--no-cache"), front.requests


def test_the_verdict_is_the_same(verified):
    result, plain, _ = verified
    assert result.code == plain.code == 0, result
    for key in ("verdict", "digest", "passed", "facts", "assurance", "cost"):
        assert result.subject[key] == plain.subject[key], key


def test_http2_is_spoken(verified):
    _, _, asked = verified
    assert len([request for request in asked if "/blobs/" in request["path"]]) >= LAYERS + 2
    assert {request["protocol"] for request in asked} == {"HTTP/2.0"}, asked
    assert {request["status"] for request in asked} == {200}, asked


def test_several_layers_come_at_once(verified):
    _, _, asked = verified
    spans = sorted((request["end"] - request["seconds"], request["end"]) for request in asked if "/blobs/" in request["path"])
    at_once = max(sum(1 for start, end in spans if start < moment < end) for moment in (start + 0.01 for start, _ in spans))
    assert at_once >= 2, spans
