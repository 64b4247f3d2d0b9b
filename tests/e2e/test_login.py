"""Logins, against docker-registry with token authentication over TLS: it believes a token only where its signature,
audience, scope and times are right, so what these tests pass was a token flow and not its likeness."""

import base64
import contextlib
import hashlib
import http.client
import http.server
import io
import json
import pathlib
import ssl
import subprocess
import tarfile
import threading
import time
import urllib.parse

import pytest

import bed
import proxy as behaviours

USER, PASSWORD, REFRESH = "reader", "s3cr3t-of-the-tests", "refresh-t0ken-of-the-tests"
SERVICE, ISSUER = "registry of the tests", "tokens of the tests"
REPOSITORIES = ("public/small", "private/small")


def _base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def tiny_image():
    """Manifest and blobs of an image of one file."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        entry = tarfile.TarInfo("etc/small")
        entry.size = 5
        archive.addfile(entry, io.BytesIO(b"small"))
    layer = tar.getvalue()
    config = json.dumps({"os": "linux", "architecture": "amd64", "config": {"Env": ["PATH=/bin"]},
                         "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]}}).encode()

    def descriptor(kind, data):
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": _digest(data), "size": len(data)}

    manifest = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                           "config": descriptor("config.v1+json", config),
                           "layers": [descriptor("layer.v1.tar", layer)]}).encode()
    return manifest, [layer, config]


def push(port, repository, manifest, blobs):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def ask(method, path, body=b"", **headers):
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status < 300, (method, path, answer.status)
        return answer

    for blob in blobs:
        location = urllib.parse.urlsplit(ask("POST", f"/v2/{repository}/blobs/uploads/").headers["Location"])
        ask("PUT", f"{location.path}?{location.query}&digest={_digest(blob)}", blob,
            **{"Content-Type": "application/octet-stream"})
    ask("PUT", f"/v2/{repository}/manifests/1", manifest,
        **{"Content-Type": "application/vnd.oci.image.manifest.v1+json"})


class TokenRegistry:
    """docker-registry that wants tokens, behind a front that serves them at the same host and port, by TLS."""

    def __init__(self, certificates):
        self.certificates = certificates
        self.host = None
        self.requests = []  # (method, path, Authorization) at the front
        self.posted = []  # forms at /token

    def token(self, scope):
        certificate = self.certificates.certificate.read_text()
        x5c = "".join(certificate.split("-----BEGIN CERTIFICATE-----")[1].split("-----END")[0].split())
        now = int(time.time())
        access = []
        for one in scope.split():
            kind, name, actions = one.split(":")
            access.append({"type": kind, "name": name, "actions": actions.split(",")})
        header = {"typ": "JWT", "alg": "RS256", "x5c": [x5c]}
        claims = {"iss": ISSUER, "sub": "", "aud": SERVICE, "exp": now + 300, "nbf": now - 10, "iat": now, "jti": "1",
                  "access": access}
        text = ".".join(_base64url(json.dumps(part).encode()) for part in (header, claims))
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", str(self.certificates.key)],
                                   input=text.encode(), capture_output=True, check=True).stdout
        return f"{text}.{_base64url(signature)}"


@contextlib.contextmanager
def token_registry(storage, certificates):
    state = TokenRegistry(certificates)
    basic = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

    class Front(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        upstream_port = None

        def log_message(self, *_):
            pass

        def forward(self):
            upstream = http.client.HTTPConnection("127.0.0.1", self.upstream_port, timeout=60)
            try:
                kept = {name: self.headers[name] for name in ("Accept", "Authorization", "Range") if self.headers.get(name)}
                upstream.request("GET", self.path, headers=kept)
                answer = upstream.getresponse()
                self.answer(answer.status, answer.getheaders(), answer.read())
            finally:
                upstream.close()

        def answer(self, status, headers, body):
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in behaviours.OWN_HEADERS:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            state.requests.append((self.command, self.path, self.headers.get("Authorization", "")))
            if not self.path.startswith("/token"):
                self.forward()
                return
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
            assert query["service"] == [SERVICE]
            self.give(query["scope"][0], self.headers.get("Authorization", ""), basic)

        def do_POST(self):
            form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            state.requests.append((self.command, self.path, self.headers.get("Authorization", "")))
            state.posted.append(form)
            assert form["service"] == [SERVICE] and form["grant_type"] == ["refresh_token"]
            self.give(form["scope"][0], form["refresh_token"][0], REFRESH)

        def give(self, scope, secret, good):
            if secret and secret != good:
                self.answer(401, [("Content-Type", "application/json")], b'{"details":"incorrect username or password"}')
                return
            if scope.startswith("repository:private/") and not secret:
                scope = ""  # as Docker Hub does: a token, and it opens nothing
            self.answer(200, [("Content-Type", "application/json")], json.dumps({"token": state.token(scope)}).encode())

    with bed.temporary_folder() as folder:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Front)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.certificate, certificates.key)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        server.daemon_threads = True
        state.host = f"localhost:{server.server_address[1]}"
        port = bed.free_port()
        path = bed.registry_config(folder, storage, port)
        config = json.loads(path.read_text())
        config["auth"] = {"token": {"realm": f"https://{state.host}/token", "service": SERVICE, "issuer": ISSUER,
                                    "rootcertbundle": str(certificates.ca)}}
        path.write_text(json.dumps(config))
        Front.upstream_port = port
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            with bed.running(["docker-registry", "serve", path], port, folder / "log"):
                yield state
        finally:
            server.shutdown()
            server.server_close()


@pytest.fixture(scope="module")
def storage():
    with bed.temporary_folder() as folder:
        with bed.registry(storage=folder) as plain:
            for repository in REPOSITORIES:
                push(plain.port, repository, *tiny_image())
        yield folder


@pytest.fixture
def tokens(storage, certificates):
    with token_registry(storage, certificates) as running:
        yield running


@pytest.fixture
def home(tmp_path, certificates, tokens):
    """A home that believes the registry's certificate, and knows nothing else."""
    folder = tmp_path / "home" / ".config" / "containers" / "certs.d" / tokens.host
    folder.mkdir(parents=True)
    (folder / "another.crt").write_text(bed.Certificates(tmp_path / "another").ca.read_text())
    (folder / "ca.crt").write_text(certificates.ca.read_text())
    return tmp_path / "home"


def verify(imgforge, home, image, *options, **environment):
    result = imgforge.verify(image, *options, environment={
        "HOME": str(home), "XDG_RUNTIME_DIR": "/nonexistent", "DOCKER_CONFIG": str(home / ".docker"), **environment})
    for secret in (PASSWORD, REFRESH, base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()):
        assert secret not in repr(result)
    return result


def log_in(path, host, **entry):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"auths": {host: entry}}))
    return path


def was_read(result):
    return result.code in (0, 1) and result.subject["digest"] == _digest(tiny_image()[0])


BASIC = {"auth": base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()}


def test_public_image_without_a_login(imgforge, home, tokens):
    assert was_read(verify(imgforge, home, f"{tokens.host}/public/small:1"))
    asked = [path for _, path, _ in tokens.requests if path.startswith("/token")]
    assert len(asked) == 1, asked


def test_private_image(imgforge, home, tokens):
    image = f"{tokens.host}/private/small:1"
    result = verify(imgforge, home, image)
    assert result.code == 3 and result.subject["error"]["kind"] == "access", result
    assert "docker login" in result.err and "there is no login" in result.err, result

    log_in(home / ".docker" / "config.json", tokens.host, **BASIC)
    assert was_read(verify(imgforge, home, image))
    for _, path, authorization in tokens.requests:
        assert path.startswith("/token") or not authorization.startswith("Basic"), "the password is for the token only"

    wrong = base64.b64encode(b"reader:wrong").decode()
    log_in(home / ".docker" / "config.json", tokens.host, auth=wrong)
    result = verify(imgforge, home, image)
    assert result.code == 3 and "incorrect username or password" in result.err, result
    assert wrong not in repr(result)


def test_identity_token(imgforge, home, tokens):
    log_in(home / ".docker" / "config.json", tokens.host, auth="MDAwOg==", identitytoken=REFRESH)
    assert was_read(verify(imgforge, home, f"{tokens.host}/private/small:1"))
    assert tokens.posted[0]["refresh_token"] == [REFRESH]


def test_login_for_one_repository_only(imgforge, home, tokens):
    log_in(home / ".config" / "containers" / "auth.json", f"{tokens.host}/private", **BASIC)
    assert was_read(verify(imgforge, home, f"{tokens.host}/private/small:1"))
    log_in(home / ".config" / "containers" / "auth.json", f"{tokens.host}/privat", **BASIC)
    assert verify(imgforge, home, f"{tokens.host}/private/small:1").code == 3


def test_authfile(imgforge, home, tokens, tmp_path):
    image = f"{tokens.host}/private/small:1"
    log_in(home / ".docker" / "config.json", tokens.host, **BASIC)
    mine = log_in(tmp_path / "mine.json", tokens.host, **BASIC)
    other = log_in(tmp_path / "other.json", "registry.example", **BASIC)
    assert was_read(verify(imgforge, home, image, "--authfile", mine))
    assert verify(imgforge, home, image, "--authfile", other).code == 3, "and nowhere else"
    assert verify(imgforge, home, image, "--authfile", tmp_path / "none.json").code == 3
    assert verify(imgforge, home, image, REGISTRY_AUTH_FILE=str(other)).code == 3
    (home / ".docker" / "config.json").unlink()
    assert was_read(verify(imgforge, home, image, REGISTRY_AUTH_FILE=str(mine)))
    assert was_read(verify(imgforge, home, image, DOCKER_AUTH_CONFIG=mine.read_text()))


def test_credential_helper(imgforge, home, tokens, tmp_path):
    image = f"{tokens.host}/private/small:1"
    helper = tmp_path / "bin" / "docker-credential-tests"
    helper.parent.mkdir()
    config = home / ".docker" / "config.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"credHelpers": {tokens.host: "tests"}}))
    path = f"{helper.parent}:/usr/bin:/bin"

    answer = json.dumps({"ServerURL": tokens.host, "Username": USER, "Secret": PASSWORD})
    helper.write_text(f"#!/bin/sh\nread host; test \"$1 $host\" = 'get {tokens.host}' || exit 9\necho '{answer}'\n")
    helper.chmod(0o755)
    assert was_read(verify(imgforge, home, image, PATH=path))

    helper.write_text("#!/bin/sh\necho 'the keychain is locked' >&2\nexit 1\n")
    result = verify(imgforge, home, image, PATH=path)
    assert result.code == 3 and "the keychain is locked" in result.err, result

    result = verify(imgforge, home, image, PATH="/usr/bin:/bin")
    assert result.code == 3 and "docker-credential-tests is not on PATH" in result.err, result


def test_mirror(imgforge, home, tokens, storage):
    with bed.registry(storage=storage) as mirror:
        # There is no such host: only the mirror can have given it.
        result = verify(imgforge, home, "registry.invalid/small:1", "--mirror", f"registry.invalid={mirror.host}/public")
        assert was_read(result), result
        log_in(home / ".docker" / "config.json", tokens.host, **BASIC)
        assert was_read(verify(imgforge, home, f"{tokens.host}/private/small:1", "--mirror",
                               f"{tokens.host}={mirror.host}/nothing-there"))
    result = verify(imgforge, home, "registry.invalid/small:1", "--mirror", f"registry.invalid={mirror.host}")
    assert result.code == 3 and "registry.invalid" in result.err and mirror.host in result.err, result
    assert pathlib.Path(storage).exists()


def test_unknown_certificate(imgforge, tmp_path, tokens):
    result = verify(imgforge, tmp_path / "empty-home", f"{tokens.host}/public/small:1")
    assert result.code == 3 and "certificate" in result.err, result
