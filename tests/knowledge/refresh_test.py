#!/usr/bin/env python3
"""scripts/refresh-knowledge against a package index that is a few files on loopback."""

import hashlib
import http.server
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "refresh-knowledge")

BEAM = """table: beam_releases
about: Releases of a test.
as_of: 2026-01-01
complete: {from: 2.60.0, through: 2.60.0}
# A comment that stays.
rows:
  # Another one.
  - {version: 2.60.0, released: 2024-10-17, pythons: ["3.8"], requires_python: ">=3.8", image_base: bookworm, source: "a 'test', with: signs"}
"""
BUILDS = """table: framework_builds
about: Builds of a test.
as_of: 2026-01-01
rows:
  - {framework: tensorflow, version: 2.15.0, cuda: [{cuda: "12.2", cudnn: "8.9", on_pypi: true}], source: "a test"}
  # Between the frameworks.
  - {framework: torch, version: 2.4.0, cuda: [{cuda: "11.8", on_pypi: true, brings: true, unverified: true}, {cuda: "11.8", local: cu118, brings: true}], source: "a test"}
  - {framework: jax, version: 0.4.35, source: "a test"}
"""
CUDNN = """table: cudnn_releases
about: Releases of a test.
as_of: 2026-01-01
rows:
  - {version: 9.1.0.70, cuda_majors: [12], source: "a test"}
"""
PYTHONS = 'rows:\n  - {minor: "3.8"}\n  - {minor: "3.9"}\n  - {minor: "3.11"}\n  - {minor: "3.12"}\n'


class Index(http.server.BaseHTTPRequestHandler):
    """Wheels by project; metadata beside the wheel or inside of it; faults on request."""

    wheels, broken, html, log = {}, set(), False, []

    def do_GET(self):
        parts = self.path.strip("/").split("/")
        self.log.append(self.path)
        if parts[0] == "simple" and parts[1] in self.broken:
            return self.answer(503, b"")
        if parts[0] == "simple" and parts[1] in self.wheels:
            files = [{"filename": name, "url": f"../../files/{name}", "requires-python": wheel.get("requires"),
                      "upload-time": wheel.get("day", "2024-01-01") + "T00:00:00Z",
                      "core-metadata": {"sha256": hashlib.sha256(wheel["metadata"].encode()).hexdigest()} if wheel.get(
                          "beside") else False} for name, wheel in self.wheels[parts[1]].items()]
            if self.html:
                links = "".join(f'<a href="{file["url"]}" data-requires-python="{(file["requires-python"] or "").replace(">", "&gt;")}">x</a>'
                                for file in files)
                return self.answer(200, links.encode(), "text/html")
            return self.answer(200, json.dumps({"files": files}).encode(), "application/vnd.pypi.simple.v1+json")
        for wheels in self.wheels.values():
            for name, wheel in wheels.items():
                if parts[-1] == name + ".metadata" and wheel.get("beside"):
                    return self.answer(200, wheel.get("served", wheel["metadata"]).encode())
                if parts[-1] == name and "metadata" in wheel and not wheel.get("beside"):
                    return self.ranged(self.zipped(wheel["metadata"]))
        return self.answer(404, b"")

    @staticmethod
    def zipped(metadata):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("x-1.dist-info/METADATA", metadata)
            archive.writestr(zipfile.ZipInfo("x/large.so"), os.urandom(300_000))
        return out.getvalue()

    def ranged(self, body):
        wanted = (self.headers.get("Range") or "").removeprefix("bytes=")
        first, _, last = wanted.partition("-")
        start = int(first) if first else max(0, len(body) - int(last))
        end = int(last) + 1 if first else len(body)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body[start:end])))
        self.end_headers()
        self.wfile.write(body[start:end])

    def answer(self, code, body, kind="application/octet-stream"):
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def metadata(*lines):
    return "Metadata-Version: 2.1\n" + "".join(line + "\n" for line in lines)


def world():
    linux = "manylinux_2_17_x86_64.manylinux2014_x86_64"
    classifier = "Classifier: Programming Language :: Python :: "
    beam = {"requires": ">=3.8", "beside": True, "day": "2024-10-17",
            "metadata": metadata(classifier + "3.8", classifier + "3.12", "Requires-Dist: numpy (<2,>=1.14)",
                                 "Requires-Dist: dill<0.3.2,>=0.3.1.1; python_version < '3.10'")}
    return {
        "apache-beam": {f"apache_beam-2.60.0-cp312-cp312-{linux}.whl": beam,
                        f"apache_beam-2.61.0-cp312-cp312-{linux}.whl": dict(beam, day="2024-11-25"),
                        f"apache_beam-2.61.0rc1-cp312-cp312-{linux}.whl": beam},
        "tensorflow": {
            f"tensorflow-2.15.0-cp311-cp311-{linux}.whl": {"requires": ">=3.9", "metadata": metadata(
                "Provides-Extra: and-cuda", "Requires-Dist: numpy<2.0.0,>=1.23.5",
                'Requires-Dist: nvidia-cudnn-cu12==8.9.4.25; extra == "and-cuda"')},
            f"tensorflow-2.15.0-cp39-cp39-{linux}.whl": {"requires": ">=3.9"},
            "tensorflow-2.15.0-cp39-cp39-macosx_10_15_x86_64.whl": {"requires": ">=3.9"},
            f"tensorflow-2.15.1-cp311-cp311-{linux}.whl": {"requires": ">=3.9", "beside": True, "metadata": metadata()}},
        "torch": {"torch-2.4.0-cp311-cp311-manylinux1_x86_64.whl": {"requires": ">=3.8", "beside": True, "metadata": metadata(
            'Requires-Dist: nvidia-cuda-runtime-cu12==12.1.105; platform_system == "Linux" and platform_machine == "x86_64"',
            'Requires-Dist: nvidia-cudnn-cu12==9.1.0.70; platform_system == "Linux"',
            'Requires-Dist: triton==3.0.0; platform_system == "Windows"')}},
        "jax": {"jax-0.4.35-py3-none-any.whl": {"requires": ">=3.9", "beside": True, "day": "2024-10-22", "metadata": metadata(
            "Requires-Dist: jaxlib<=0.4.35,>=0.4.34")}},
        "jaxlib": {f"jaxlib-0.4.34-cp311-cp311-{linux}.whl": {"day": "2024-10-04"},
                   f"jaxlib-0.4.36-cp312-cp312-{linux}.whl": {"day": "2024-12-05"}},
        "nvidia-cudnn-cu11": {f"nvidia_cudnn_cu11-9.1.0.70-py3-none-{linux}.whl": {}},
        "nvidia-cudnn-cu12": {f"nvidia_cudnn_cu12-9.2.0.82-py3-none-{linux}.whl": {}},
        "nvidia-cudnn-cu13": {f"nvidia_cudnn_cu13-9.12.0.46-py3-none-{linux}.whl": {}},
    }


class Refresh(unittest.TestCase):
    def setUp(self):
        Index.wheels, Index.broken, Index.html, Index.log = world(), set(), False, []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name, text in (("beam_releases", BEAM), ("framework_builds", BUILDS), ("cudnn_releases", CUDNN),
                           ("python_releases", PYTHONS)):
            with open(self.path(name), "w", encoding="utf-8") as stream:
                stream.write(text)

    def path(self, name):
        return os.path.join(self.folder, name + ".yaml")

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as stream:
            return stream.read()

    def run_script(self, *arguments):
        url = f"http://127.0.0.1:{self.server.server_address[1]}/simple"
        environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        return subprocess.run([sys.executable, SCRIPT, "--knowledge", self.folder, "--index-url", url, "--retries", "0",
                               "--timeout", "10", "--today", "2026-12-01", *arguments], capture_output=True, text=True,
                              timeout=120, env=environment)

    def test_news_are_written_and_nothing_else_changes(self):
        done = self.run_script()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        beam = self.text("beam_releases")
        self.assertIn("# A comment that stays.\nrows:\n  # Another one.\n  - {version: 2.60.0,", beam)
        self.assertIn('pythons: ["3.8", "3.12"]', beam)
        self.assertIn('requires_dist: {numpy: ">=1.14,<2"}', beam)  # dill is not asked for on 3.12
        self.assertIn("source: \"a 'test', with: signs\"", beam)
        self.assertIn("complete: {from: 2.60.0, through: 2.61.0}", beam)
        self.assertRegex(beam, r"version: 2.61.0, released: 2024-11-25, .*image_base: bookworm, unverified: true")
        self.assertNotIn("rc1", beam)
        self.assertIn("as_of: 2026-12-01", beam)

        builds = self.text("framework_builds")
        first, second, remark, torch, jax = builds.splitlines()[-5:]
        self.assertEqual(remark, "  # Between the frameworks.")
        self.assertIn('version: 2.15.0, released: 2024-01-01, requires_python: ">=3.9", wheels: ["3.9", "3.11"], glibc: "2.17"',
                      first)
        self.assertIn('cuda_extra: and-cuda, cuda_pins: {nvidia-cudnn-cu12: "==8.9.4.25"}', first)
        self.assertIn('version: 2.15.1', second)
        self.assertIn('cuda: [{cuda: "12.2", cudnn: "8.9", on_pypi: true}]', second)  # as the release before
        self.assertIn('cuda: [{cuda: "12.1", cudnn: 9.1.0.70, on_pypi: true, brings: true}, {cuda: "11.8", local: cu118', torch)
        self.assertNotIn("triton", torch)
        self.assertIn('wheels: ["3.11"]', jax)  # of the jaxlib of its day
        self.assertIn("complete: {tensorflow: {from: 2.15.0, through: 2.15.1}, torch:", builds)

        cudnn = self.text("cudnn_releases")
        self.assertIn('  - {version: 9.1.0.70, cuda_majors: [11, 12], source: "a test; PyPI nvidia-cudnn-cu11"}', cudnn)
        self.assertLess(cudnn.index("9.2.0.82"), cudnn.index("9.12.0.46"))

        again = self.run_script()
        self.assertEqual(again.returncode, 0)
        self.assertEqual(again.stdout.count("up to date"), 3)
        self.assertEqual((beam, builds, cudnn),
                         tuple(self.text(name) for name in ("beam_releases", "framework_builds", "cudnn_releases")))

    def test_check_writes_nothing(self):
        done = self.run_script("--check")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.text("beam_releases"), BEAM)
        self.assertEqual(self.text("framework_builds"), BUILDS)
        self.run_script()
        self.assertEqual(self.run_script("--check").returncode, 0)

    def test_an_index_that_is_away_leaves_its_table_alone(self):
        Index.broken = {"torch"}
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn("framework_builds: left as it is", done.stderr)
        self.assertEqual(self.text("framework_builds"), BUILDS)
        self.assertIn("2.61.0", self.text("beam_releases"))  # a table by itself
        self.server.shutdown()
        self.server.server_close()
        before = self.text("beam_releases")
        self.assertEqual(self.run_script().returncode, 1)
        self.assertEqual(self.text("beam_releases"), before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["beam_releases.yaml", "cudnn_releases.yaml", "framework_builds.yaml",
                                                           "python_releases.yaml"])

    def test_metadata_that_is_not_what_the_index_names_is_refused(self):
        wheel = next(iter(Index.wheels["torch"].values()))
        wheel["served"] = metadata("Requires-Dist: nvidia-cudnn-cu12==1.2.3")
        done = self.run_script("--table", "framework_builds")
        self.assertEqual(done.returncode, 1)
        self.assertIn("SHA-256", done.stderr)
        self.assertEqual(self.text("framework_builds"), BUILDS)

    def test_an_index_of_html(self):
        Index.html = True
        done = self.run_script("--table", "framework_builds")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn('version: 2.15.0, requires_python: ">=3.9", wheels: ["3.9", "3.11"]', self.text("framework_builds"))

    def test_a_cache_spares_the_second_run_the_metadata(self):
        with tempfile.TemporaryDirectory() as cache:
            self.run_script("--cache", cache, "--check")
            Index.log.clear()
            self.run_script("--cache", cache)
            self.assertEqual([path for path in Index.log if path.endswith(".metadata") and "files" in path], [])
            self.assertIn("8.9.4.25", self.text("framework_builds"))

    def test_the_password_of_an_index_is_not_shown(self):
        port = self.server.server_address[1]
        Index.broken = {"apache-beam"}
        done = self.run_script("--table", "beam_releases", "--index-url", f"http://user:secret@127.0.0.1:{port}/simple")
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("secret", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
