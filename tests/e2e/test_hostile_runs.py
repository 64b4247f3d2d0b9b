"""Registries that wish us ill, runs that are interrupted, and very many at once. See docs/hostile-images.md."""

import concurrent.futures
import contextlib
import http.server
import json
import os
import pathlib
import select
import signal
import socket
import ssl
import subprocess
import threading
import time

import pytest

import bed
import hostile
from hostile import Layer, file, header, long_file, tar
from test_hostile import FORMATS, Run, opinion, worker

PASSWORD = "s3cr3t-of-hostile-tests"


@pytest.fixture(autouse=True)
def say(say_stand_ins):
    say_stand_ins()


class Registry:
    """An image, served. `answer(request)` may write another answer, and says whether it did."""

    def __init__(self, layers, config=None):
        config = hostile.config_of(layers) if config is None else config
        self.blobs = {hostile.digest(blob): blob for blob in [config, *[layer.blob for layer in layers]]}
        self.manifest = json.dumps({
            "schemaVersion": 2, "mediaType": hostile.OCI_MANIFEST, "config": hostile.descriptor(config, hostile.OCI_CONFIG),
            "layers": [hostile.descriptor(x.blob, x.media_type, **x.more) for x in layers]}).encode()
        self.requests, self.answer, self.more = [], lambda request: False, {}
        self.host = None

    @property
    def name(self):
        return f"{self.host}/a/b:1"


@contextlib.contextmanager
def serving(registry, certificates=None):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def reply(self, status, body=b"", **headers):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def endless(self, status, start=b"", **headers):
            """Bytes until the other side has enough; `sent` is how many."""
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.close_connection = True
            registry.sent = 0
            with contextlib.suppress(OSError):
                self.wfile.write(start)
                while registry.sent < 1 << 30:
                    registry.sent += self.wfile.write(b" " * 65536)

        def do_GET(self):
            registry.requests.append((self.path, dict(self.headers)))
            if registry.answer(self):
                return
            if "/manifests/" in self.path:
                self.reply(200, registry.manifest, Content_Type=hostile.OCI_MANIFEST, **registry.more)
            elif "/blobs/" in self.path and self.path.rpartition("/")[2] in registry.blobs:
                self.reply(200, registry.blobs[self.path.rpartition("/")[2]], **registry.more)
            else:
                self.reply(200 if self.path == "/v2/" else 404, b"{}", **registry.more)

        do_HEAD = do_POST = do_GET

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if certificates:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.certificate, certificates.key)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    registry.host = f"localhost:{server.server_address[1]}"
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()


def verify(imgforge, name, *options, cache=None, **more):
    kept = ["--cache", cache] if cache else ["--no-cache"]
    return Run(imgforge.binary, ["verify", *kept, "--format", "json", *options, name], **more)


# Registries.


def test_no_answer_leads_elsewhere_but_a_redirect(imgforge, tmp_path):
    """Link, Location without a redirect's status, Refresh: nobody goes there, with or without a login."""
    with serving(Registry([])) as elsewhere, serving(Registry([Layer(worker())])) as registry:
        url = f"http://{elsewhere.host}/v2/a/b/tags/list"
        registry.more = {"Link": f'<{url}>; rel="next", <{url}>; rel="subject"', "Location": url, "Refresh": f"0; url={url}",
                         "Content_Location": url, "Docker_Distribution_Api_Version": "registry/2.0", "OCI_Subject": url}
        config = bed.docker_config(tmp_path / "docker", registry.host, "reader", PASSWORD)
        run = verify(imgforge, registry.name, environment={"DOCKER_CONFIG": str(config)})
        assert run.code == 1 and run.subject["digest"] == hostile.digest(registry.manifest), run
        assert not elsewhere.requests


def test_nothing_is_written_to_a_registry(imgforge, tmp_path):
    """No upload is begun, whatever the registry offers: what it says to a GET is all that is asked."""
    with serving(Registry([Layer(worker())])) as registry:
        methods = []
        registry.answer = lambda request: methods.append(request.command)
        assert verify(imgforge, registry.name).code == 1
        assert set(methods) <= {"GET", "HEAD"} and all("uploads" not in path for path, _ in registry.requests)


@contextlib.contextmanager
def tunnel(port):
    """A proxy for HTTPS that leads every name to one port of this machine, and keeps the names."""
    names = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_CONNECT(self):
            names.append(self.path)
            self.send_response(200)
            self.end_headers()
            with socket.create_connection(("127.0.0.1", port)) as there:
                pair = {self.connection: there, there: self.connection}
                while ready := select.select(list(pair), [], [], 10)[0]:
                    for one in ready:
                        data = one.recv(65536)
                        if not data:
                            return
                        pair[one].sendall(data)

    with bed._serving(Handler) as own:
        yield f"http://localhost:{own}", names


def test_the_token_server_proves_who_it_is(imgforge, tmp_path):
    """The registry's certificate is known, that of its token server is not, or is for another name: no password goes
    there (CVE-2019-10214)."""
    known, unknown = bed.Certificates(tmp_path / "known"), bed.Certificates(tmp_path / "unknown")
    tokens = Registry([])
    registry = Registry([Layer(worker())])
    challenge = 'Bearer realm="https://auth.example.com/token",service="s",scope="repository:a/b:pull"'
    registry.answer = lambda request: request.reply(401, b"{}", WWW_Authenticate=challenge) or True
    for certificates in (unknown, known):
        with serving(registry, known), serving(tokens, certificates), tunnel(int(tokens.host.split(":")[1])) as (proxy, names):
            config = bed.docker_config(tmp_path / "docker", registry.host, "reader", PASSWORD)
            run = verify(imgforge, registry.name, environment={
                "DOCKER_CONFIG": str(config), "SSL_CERT_FILE": str(known.ca), "HTTPS_PROXY": proxy, "NO_PROXY": "localhost"})
            assert run.code == 3 and "certificate" in run.subject["error"]["message"], run
            assert registry.requests and names == ["auth.example.com:443"] and not tokens.requests, (names, run)
            assert PASSWORD not in repr(run)


@pytest.mark.parametrize("what", ["manifest", "config", "layer", "error", "error of a layer", "token", "headers"])
def test_bodies_without_end(what, imgforge, tmp_path):
    """Each answer has a bound, and what hits it is an error and not the whole."""
    layer = Layer(worker())
    registry = Registry([layer])
    with serving(registry):

        def answer(request):
            is_manifest, is_layer = "/manifests/" in request.path, request.path.endswith(layer.diff_id)
            if what == "manifest" and is_manifest:
                request.endless(200, b'{"schemaVersion":2,', Content_Type=hostile.OCI_MANIFEST)
            elif what == "config" and "/blobs/" in request.path and not is_layer:
                request.endless(200, b"{")
            elif what == "layer" and is_layer:
                request.endless(200, layer.blob)
            elif what == "error" and is_manifest or what == "error of a layer" and is_layer:
                request.endless(404, b'{"errors":[{"code":"X","message":"')
            elif what == "headers" and is_manifest:
                with contextlib.suppress(OSError):
                    request.wfile.write(b"HTTP/1.1 200 OK\r\n")
                    registry.sent = 0
                    while registry.sent < 1 << 28:
                        registry.sent += request.wfile.write(b"X-%d: %s\r\n" % (registry.sent, b"x" * 60_000))
                request.close_connection = True
            elif what == "token" and request.path.startswith("/token"):
                request.endless(200, b'{"token":"')
            elif what == "token":
                request.reply(401, WWW_Authenticate=f'Bearer realm="http://{registry.host}/token",service="s"')
            else:
                return False
            return True

        registry.answer = answer
        run = verify(imgforge, registry.name)
    assert run.code == 3 and run.megabytes < 80, run
    assert registry.sent < 64 << 20, "it hangs up"


def test_a_challenge_without_end(imgforge):
    """WWW-Authenticate of all that a header can hold: thousands of schemes, quotes that do not end, escapes."""
    registry = Registry([Layer(worker())])
    for challenge in ("Basic, " * 1500, 'Bearer realm="' + "\\" * 8000, "Bearer " + "a=b," * 2000, 'Bearer realm="http://[::1', "Bearer realm=",
                      'Bearer realm="file:///etc/passwd"', 'Bearer realm="//localhost/token"', "Negotiate\x80\xff, Basic realm=\"\x1b[31m\""):
        with serving(registry):
            registry.answer = lambda request: request.reply(401, b"{}", WWW_Authenticate=challenge) or True
            run = verify(imgforge, registry.name)
            assert run.code == 3 and b"\x1b" not in run.out + run.err, (challenge[:40], run)


def test_an_image_that_changes_between_answers(imgforge, tmp_path):
    """The tag's manifest is another at each request, and so is each blob: what is judged is one image, or none."""
    good, other = Layer(worker()), Layer(tar(file("etc/os-release", "ID=evil\n")))
    registry = Registry([good])
    registry.blobs[good.diff_id] = other.blob
    with serving(registry):
        run = verify(imgforge, registry.name, cache=tmp_path / "cache")
        assert run.code == 3 and run.subject["error"]["kind"] == "corrupt", run
        registry.blobs[good.diff_id] = good.blob
        assert verify(imgforge, registry.name, cache=tmp_path / "cache").code == 1, "and nothing of it was kept"


# Verdicts fail closed.


@pytest.mark.parametrize("kind", FORMATS)
def test_what_could_not_be_read_is_no_pass(kind, imgforge, tmp_path):
    """Beside an image that was: exit code 3, and every format says which one and why (CVE-2022-35929)."""
    good = hostile.image(tmp_path / "good", worker())
    broken = hostile.Layout(tmp_path / "broken")
    broken.index(hostile.descriptor(broken.manifest([Layer(worker() + b"x", "sha256:" + "0" * 64)]), hostile.OCI_MANIFEST))
    for blob in broken.blobs.iterdir():
        if blob.stat().st_size > 5000:
            blob.write_bytes(blob.read_bytes()[:-1] + b"y")
    for names in ([f"oci:{broken.path}"], [good, f"oci:{broken.path}"], [f"oci:{broken.path}", good]):
        run = Run(imgforge.binary, ["verify", "--no-cache", "--format", kind, *names])
        assert run.code == 3, run
        text = run.out.decode()
        if kind == "json":
            assert [subject["verdict"] for subject in run.report["subjects"]].count("error") == 1
        elif kind == "sarif":
            (told,) = run.report["runs"][0]["invocations"]
            assert told["executionSuccessful"] is False, text
        elif kind == "junit":
            assert "<error" in text
        elif kind == "github":
            assert "::error" in text
        assert "digest" in text and "PASS" not in text


def test_an_image_without_anything(imgforge, tmp_path):
    """No layers, layers of nothing, an empty tar: that what is asked for is not there is a fault, and not a pass."""
    for number, layers in enumerate([[], [b""], [tar()], [bytes(512)], [Layer.packed(tar())] * 3]):
        run = verify(imgforge, hostile.image(tmp_path / str(number), *layers))
        assert run.code == 1 and "beam/boot-missing" in [f["rule"] for f in run.subject["findings"]], (number, run)
        assert "beam/boot-missing" not in run.subject["passed"]


def test_an_image_cannot_waive_its_faults(imgforge, tmp_path):
    """The recipe in its label may hold what it wants: ignores do not count, and one that is no recipe is told."""
    recipe = {"apiVersion": "imgforge/v1", "name": "x", "target": {"runner": "dataflow"}}
    root = [m for m in hostile.worker_members() if not m.startswith(b"opt/")]
    for number, label in enumerate([
            json.dumps(recipe), json.dumps(recipe | {"checks": {"ignore": [{"rule": "beam/boot-missing", "reason": "no"}]}}),
            "{", "[" * 100_000, "&a [*a]", "x: &a [" + "1," * 1000 + "]\ny: [" + "*a," * 3000 + "]", "\x1b[31m", "x" * 1_000_000,
            json.dumps(recipe | {"target": {"runner": "portable\u202e"}}), "!!python/object:os.system x"]):
        config = {"Entrypoint": ["/opt/apache/beam/boot"], "Labels": {"dev.imgforge.recipe": label}}
        run = verify(imgforge, hostile.image(tmp_path / str(number), tar(*root), config=config))
        assert run.code in (1, 2, 3) and run.megabytes < 100, (number, run)
        if number < 2:
            assert "beam/boot-missing" in [f["rule"] for f in run.subject["findings"]], (number, run)
        assert b"\x1b" not in run.out + run.err and "\u202e" not in (run.out + run.err).decode(), (number, run)


# Runs that are interrupted, and very many at once.


def left_in(folder):
    return [path for path in pathlib.Path(folder).rglob("*") if not path.is_dir()]


@pytest.fixture
def slow_image(tmp_path):
    """Eight layers of some megabytes, which take a moment; one is looked at twice."""
    layers = [worker()] + [tar(*[file(f"d{n}/{i}", os.urandom(200)) for i in range(4000)]) for n in range(7)]
    name = hostile.image(tmp_path / "image", *[Layer.packed(layer) for layer in layers])
    time.sleep(2.1)  # what changed a moment ago is not kept
    return name


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_leaves_nothing(number, imgforge, slow_image, tmp_path):
    """At any moment: no temporary file, no half-written entry, no report; and the next run says what is right."""
    truth = opinion(verify(imgforge, slow_image))
    work, cache = tmp_path / "work", tmp_path / "cache"
    work.mkdir()
    environment = os.environ | {"TMPDIR": str(work), "HOME": str(work), "XDG_CACHE_HOME": str(work)}
    start = time.monotonic()
    subprocess.run([imgforge.binary, "verify", "--no-cache", slow_image], capture_output=True, env=environment)
    takes = time.monotonic() - start
    ended = 0
    for moment in range(25):
        child = subprocess.Popen([imgforge.binary, "verify", "--cache", cache, "--output", work / "report", slow_image],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=work)
        time.sleep(takes * (moment + 1) / 20)
        child.send_signal(number)
        out, err = child.communicate(timeout=10)
        assert child.returncode in (-number, 0, 1), (moment, child.returncode, out, err)
        ended += child.returncode == -number
        assert not out and not err or child.returncode >= 0, (out, err)
        assert {path.name for path in left_in(work)} <= {"report"}, left_in(work)
        report = work / "report"
        assert not report.exists() or b"passed" in report.read_bytes().splitlines()[-1]
        assert all(path.suffix == ".layer" for path in left_in(cache)), left_in(cache)
        if moment % 4 == 3:
            assert opinion(verify(imgforge, slow_image, cache=cache)) == truth
            for path in left_in(cache):
                path.unlink()
            report.unlink(missing_ok=True)
    assert ended > 5, "most of them were interrupted"


def test_an_interrupted_run_ends_at_once(imgforge, tmp_path):
    """Also one that waits for a server that says nothing, and one that reads a pipe that nobody writes to."""
    registry = Registry([Layer(worker())])
    arrived = threading.Event()

    def stall(request):
        arrived.set()
        time.sleep(20)
        return False

    registry.answer = stall
    with serving(registry):
        for arguments in (["verify", "--cache", tmp_path / "cache", registry.name], ["verify", "docker-archive:-"]):
            reader, writer = os.pipe()
            child = subprocess.Popen([imgforge.binary, *arguments], stdin=reader, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            os.close(reader)
            arrived.wait(10) if "--cache" in arguments else time.sleep(0.5)
            start = time.monotonic()
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=10)
            os.close(writer)
            assert child.returncode == -signal.SIGINT and time.monotonic() - start < 2
    assert not left_in(tmp_path)


def test_an_interrupted_render_leaves_the_old_file_or_the_new_one(imgforge, tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text('{"apiVersion": "imgforge/v1", "name": "x", "target": {"runner": "dataflow"}, "python": {"version": "3.11"}}')
    output = tmp_path / "Dockerfile"
    first = imgforge("render", recipe, "-o", output)
    assert first.code == 0, first
    content = output.read_bytes()
    for moment in range(60):
        child = subprocess.Popen([imgforge.binary, "render", recipe, "-o", output], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.002 * (moment % 30))
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=10)
        assert output.read_bytes() == content
        assert sorted(path.name for path in left_in(tmp_path)) == ["Dockerfile", "recipe.yaml"]


def test_two_hundred_runs_on_one_cache(imgforge, tmp_path):
    """Of one image and of different ones that share layers; some of them empty the cache, some are interrupted."""
    shared = [Layer.packed(tar(*[file(f"s{n}/{i}", os.urandom(50)) for i in range(500)])) for n in range(3)]
    images = [hostile.image(tmp_path / f"i{n}", Layer.packed(worker(file(f"only{n}"))), *shared) for n in range(4)]
    time.sleep(2.1)
    truths = [opinion(verify(imgforge, name)) for name in images]
    cache = tmp_path / "cache"

    def one(number):
        if number % 20 == 19:
            return imgforge("cache", "prune", "--cache", cache).code == 0
        if number % 20 == 9:
            child = subprocess.Popen([imgforge.binary, "verify", "--cache", cache, images[number % 4]],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.05)
            child.send_signal(signal.SIGTERM)
            return child.wait() in (1, -signal.SIGTERM)
        run = verify(imgforge, images[number % 4], cache=cache, seconds=120)
        return opinion(run) == truths[number % 4]

    with concurrent.futures.ThreadPoolExecutor(200) as pool:
        assert all(pool.map(one, range(200)))
    assert all(path.suffix == ".layer" for path in left_in(cache)), left_in(cache)
    for name, truth in zip(images, truths):
        verify(imgforge, name, cache=cache)
        again = verify(imgforge, name, cache=cache)
        assert opinion(again) == truth and again.subject["cost"]["layers_read"] == 0, again


def test_nothing_is_unpacked(imgforge, tmp_path):
    """Set-id programs, devices, names anywhere: not a file is made, and none is changed in mode, by any kind of source."""
    members = [header("dev/sda", b"4"), file("opt/suid", "x", 0o6755), long_file(str(tmp_path / "canary").encode(), b"x"),
               long_file(b"../" * 12 + str(tmp_path / "canary").encode(), b"x"), header(".", b"5", mode=0o777)]
    names = [hostile.image(tmp_path / "layout", worker(*members)), hostile.docker_archive(tmp_path / "a.tar", [worker(*members)], members=members)]
    work = tmp_path / "work"
    work.mkdir()
    trace = tmp_path / "trace"
    for name in names:
        run = Run("/usr/bin/strace", ["-f", "-qq", "-e", "trace=open,openat,creat,mkdir,mkdirat,mknod,mknodat,symlink,symlinkat,link,linkat,"
                                      "chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,rename,renameat,renameat2,unlink,unlinkat",
                                      "-o", trace, imgforge.binary, "verify", "--no-cache", "--format", "json", name],
                  environment={"TMPDIR": str(work), "HOME": str(work), "XDG_CACHE_HOME": str(work)}, cwd=work, seconds=60)
        assert run.code == 1, run
        changes = [line for line in trace.read_text().splitlines()
                   if not ("open" in line and "O_WRONLY" not in line and "O_RDWR" not in line) and "= -1" not in line and "+++" not in line]
        assert not changes, changes
    assert not left_in(work)
