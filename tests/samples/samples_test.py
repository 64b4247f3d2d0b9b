#!/usr/bin/python3
"""The samples are what their generator makes, and verify says of them what samples/README.md promises.

    samples_test.py IMGFORGE
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"
IMGFORGE = sys.argv.pop()


def verify(image):
    """The exit code, and what the report says of its one subject."""
    ran = subprocess.run([IMGFORGE, "verify", "--format", "json", SAMPLES / image], stdout=subprocess.PIPE, check=False)
    (subject,) = json.loads(ran.stdout)["subjects"]
    return ran.returncode, subject


class Samples(unittest.TestCase):
    def test_the_generator_makes_the_bytes_that_are_committed(self):
        committed = sorted(path.name for path in SAMPLES.glob("*.tar"))
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([SAMPLES / "make-samples", folder], check=True)
            self.assertEqual(committed, sorted(path.name for path in pathlib.Path(folder).iterdir()))
            for name in committed:
                made = (pathlib.Path(folder) / name).read_bytes()
                self.assertEqual((SAMPLES / name).read_bytes(), made, f"{name}: run samples/make-samples and commit")

    def test_they_stay_small(self):
        for image in SAMPLES.glob("*.tar"):
            self.assertLess(image.stat().st_size, 100_000, image.name)

    def test_the_worker_passes_with_nothing_left_open(self):
        code, subject = verify("worker.oci.tar")
        self.assertEqual(("pass", [], []), (subject["verdict"], subject["findings"], subject["undecided"]))
        self.assertEqual(0, code)
        self.assertEqual("label", subject["recipe"]["source"])
        self.assertIn("beam/boot-missing", subject["passed"])

    def test_the_broken_one_shows_its_three_mistakes_with_evidence_and_a_way_out(self):
        code, subject = verify("broken.oci.tar")
        expected = ["beam/sdk-version-mismatch", "beam/venv-unavailable", "tpu/environment"]
        self.assertEqual(expected, sorted(finding["rule"] for finding in subject["findings"]))
        self.assertEqual(("fail", []), (subject["verdict"], subject["undecided"]))
        self.assertEqual(1, code)
        for finding in subject["findings"]:
            self.assertEqual("error", finding["level"], finding["rule"])
            self.assertTrue(finding["evidence"], finding["rule"])
            self.assertTrue(finding["fix"], finding["rule"])


if __name__ == "__main__":
    unittest.main()
