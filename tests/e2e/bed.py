"""The test bed: registries and file servers on loopback, for as long as a `with` lasts. A proxy that misbehaves: proxy.py."""

import base64
import contextlib
import ctypes
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

START_TIMEOUT_SECONDS = 20


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(command, **options):
    """Runs a command to its end; what it said is in the exception when it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[-6000:]
        raise RuntimeError(f"{' '.join(map(str, command))}\nexit code {done.returncode}\n{said}")
    return done.stdout


@contextlib.contextmanager
def temporary_folder(prefix="imgforge-e2e-"):
    folder = pathlib.Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _end_with_parent():
    """Between fork and exec: what a test started does not outlive it, even if it is killed (Linux' PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def _wait_until_it_accepts(port, process, log):
    name, deadline = process.args[0], time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{name} ended at once:\n{log.read_text()[-3000:]}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{name} does not listen on {port}:\n{log.read_text()[-3000:]}")


@contextlib.contextmanager
def running(command, port, log):
    """A server, from when it listens on the port; `log` is the file that gets what it says."""
    with log.open("w") as output:
        process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=subprocess.STDOUT,
                                   preexec_fn=_end_with_parent)
    try:
        _wait_until_it_accepts(port, process, log)
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Registry:
    """A running docker-registry. `host` is what stands before the first slash of a reference."""

    def __init__(self, port, ca=None):
        self.port = port
        self.host = f"localhost:{port}"
        self.ca = ca  # the CA's certificate, where it speaks TLS


def registry_config(folder, storage, port, user=None, password=None, certificates=None):
    """Writes docker-registry's configuration and answers its path."""
    config = {
        "version": "0.1",
        "log": {"level": "warn", "accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(storage)}, "delete": {"enabled": True}},
        "http": {"addr": f"127.0.0.1:{port}"},
    }
    if certificates:
        config["http"]["tls"] = {"certificate": str(certificates.certificate), "key": str(certificates.key)}
    if user:
        (folder / "htpasswd").write_text(run(["htpasswd", "-Bbn", user, password]))
        config["auth"] = {"htpasswd": {"realm": "imgforge-e2e", "path": str(folder / "htpasswd")}}
    path = folder / "config.yml"
    path.write_text(json.dumps(config))  # JSON is YAML
    return path


@contextlib.contextmanager
def registry(storage=None, user=None, password=None, certificates=None):
    """docker-registry on a free port: plain HTTP, or TLS with `certificates`; htpasswd where there is a user."""
    with temporary_folder() as folder:
        port = free_port()
        storage = pathlib.Path(storage) if storage else folder / "storage"
        storage.mkdir(parents=True, exist_ok=True)
        config = registry_config(folder, storage, port, user, password, certificates)
        with running(["docker-registry", "serve", config], port, folder / "log"):
            yield Registry(port, certificates.ca if certificates else None)


class Certificates:
    """A CA of our own and a certificate by it for localhost."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.ca, self.certificate, self.key = folder / "ca.pem", folder / "server.pem", folder / "server.key"
        ca_key, request, extensions = folder / "ca.key", folder / "server.csr", folder / "extensions"
        new_key = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-sha256"]
        run([*new_key, "-x509", "-days", "2", "-subj", "/CN=imgforge e2e CA", "-keyout", ca_key, "-out", self.ca])
        run([*new_key, "-subj", "/CN=localhost", "-keyout", self.key, "-out", request])
        extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        run(["openssl", "x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", ca_key, "-CAcreateserial",
             "-days", "2", "-sha256", "-extfile", extensions, "-out", self.certificate])


def docker_config(folder, host, user, password):
    """A folder for DOCKER_CONFIG that holds one login."""
    folder.mkdir(parents=True, exist_ok=True)
    login = base64.b64encode(f"{user}:{password}".encode()).decode()
    (folder / "config.json").write_text(json.dumps({"auths": {host: {"auth": login}}}))
    return folder


@contextlib.contextmanager
def _serving(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def file_server(folder):
    """Serves the files of a folder; gives the URL without a slash at the end."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, directory=str(folder), **named)

        def log_message(self, *_):
            pass

    with _serving(Handler) as port:
        yield f"http://127.0.0.1:{port}"


class Builder:
    """buildah with a storage of its own; builds unchanged Dockerfiles whose docker.io names lead to `mirror`."""

    REMAPPED = ("docker.io/apache", "docker.io/tensorflow", "docker.io/nvidia", "docker.io/library", "nvcr.io/nvidia")

    def __init__(self, folder, mirror):
        self.folder, self.mirror = folder, mirror
        folder.mkdir(parents=True, exist_ok=True)
        self.environment = dict(os.environ)
        self.environment["TMPDIR"] = str(folder)
        # No login of the machine's owner, and no answer about blobs that some other registry held.
        self.environment["REGISTRY_AUTH_FILE"] = str(folder / "auth.json")
        (folder / "auth.json").write_text("{}")
        (folder / "policy.json").write_text(json.dumps({"default": [{"type": "insecureAcceptAnything"}]}))
        if mirror:
            entries = ['unqualified-search-registries = ["docker.io"]\nshort-name-mode = "disabled"\n']
            entries += [f'[[registry]]\nprefix = "{name}"\nlocation = "{mirror.host}/{name}"\ninsecure = true\n'
                        for name in self.REMAPPED]
            entries.append(f'[[registry]]\nlocation = "{mirror.host}"\ninsecure = true\n')
            (folder / "registries.conf").write_text("\n".join(entries))
            self.environment["CONTAINERS_REGISTRIES_CONF"] = str(folder / "registries.conf")
        self.storage = ["--root", folder / "root", "--runroot", folder / "runroot",
                        "--storage-driver", storage_driver(folder)]

    def buildah(self, *arguments, **options):
        return run(["buildah", *self.storage, *arguments], env=self.environment, **options)

    def build(self, context, tag, dockerfile=None, build_args=None, volumes=None):
        """Builds under a tag; `volumes` maps folders of this machine to where RUN sees them, read-only."""
        words = [word for name, value in (build_args or {}).items() for word in ("--build-arg", f"{name}={value}")]
        words += [word for here, there in (volumes or {}).items() for word in ("--volume", f"{here}:{there}:ro")]
        self.buildah("bud", "--isolation", "chroot", "--layers", "--format", "docker", "--tls-verify=false",
                     "--signature-policy", self.folder / "policy.json", *words, "-t", tag,
                     "-f", dockerfile or pathlib.Path(context) / "Dockerfile", context)
        return tag

    def push(self, tag, destination, *options):
        self.buildah("push", "--tls-verify=false", "--signature-policy", self.folder / "policy.json", *options, tag,
                     destination)

    def close(self, in_memory):
        with contextlib.suppress(RuntimeError):
            self.buildah("rm", "--all")
        # The overlay driver keeps its folder mounted onto itself.
        subprocess.run(["umount", "-R", str(self.folder / "root" / "overlay")], capture_output=True)
        if not in_memory:
            subprocess.run(["rm", "-rf", str(self.folder)], capture_output=True)  # tens of thousands of files


def storage_driver(folder):
    """overlay where the kernel lets us mount one here (not within some containers), else vfs."""
    trial = folder / "overlay-trial"
    for name in ("lower", "upper", "work", "merged"):
        (trial / name).mkdir(parents=True, exist_ok=True)
    options = f"lowerdir={trial}/lower,upperdir={trial}/upper,workdir={trial}/work"
    mounted = subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(trial / "merged")],
                             capture_output=True)
    if mounted.returncode != 0:
        return "vfs"
    run(["umount", trial / "merged"])
    return "overlay"


@contextlib.contextmanager
def builder(mirror):
    with temporary_folder() as folder:
        in_memory = _mount_memory(folder)
        try:
            made = Builder(folder / "buildah", mirror)
            try:
                yield made
            finally:
                made.close(in_memory)
        finally:
            if in_memory:
                subprocess.run(["umount", "-l", str(folder)], capture_output=True)


def _mount_memory(folder):
    """A tmpfs there, on machines with memory to spare: builds make and delete hundreds of thousands of files."""
    available = next(int(line.split()[1]) for line in open("/proc/meminfo") if line.startswith("MemAvailable:"))
    if available < 12 << 20:  # KiB; a session's builds come to some 4 GiB
        return False
    return subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8g,mode=0700", "imgforge-e2e", str(folder)],
                          capture_output=True).returncode == 0


def copy_image(source, destination, *options):
    """skopeo copy between transports."""
    run(["skopeo", "--insecure-policy", "copy", "--src-tls-verify=false", "--dest-tls-verify=false", *options, source,
         destination])
