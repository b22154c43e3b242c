#!/usr/bin/env python3
"""Installs a build to a temporary folder, and builds and runs the examples with what is there.

usage: install_test.py BUILD CXX [CMAKE]
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD, CXX = sys.argv[1:3]
CMAKE = sys.argv[3] if len(sys.argv) > 3 else "cmake"

ALL_HEADERS = "\n".join([
    "cmake_minimum_required(VERSION 3.22)",
    "project(all_headers LANGUAGES CXX)",
    "find_package(dashlm REQUIRED)",
    "add_library(all_headers OBJECT all.cpp)",
    "target_link_libraries(all_headers PRIVATE dashlm::cli)"])


def run(*command, **options):
    """The output of a command that must succeed."""
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False, **options)
    if result.returncode != 0:
        raise AssertionError(f"{command} returned {result.returncode}:\n{result.stdout}")
    return result.stdout


def losses(text):
    return [float(loss) for loss in re.findall(r"loss (\d+\.\d+)", text)]


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="dashlm_install_"))
        cls.prefix = cls.folder / "prefix"
        run(CMAKE, "--install", BUILD, "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def build(self, source):
        """The folder in which the project is built."""
        build = self.folder / "build" / source.name
        run(CMAKE, "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_CXX_COMPILER={CXX}", "-DCMAKE_BUILD_TYPE=Release")
        run(CMAKE, "--build", build, "--parallel", "2")
        return build

    def test_the_program_runs(self):
        self.assertRegex(run(self.prefix / "bin/dashlm", "--version"), r"^dashlm \d+\.\d+\.\d+ \(")

    def test_scripts_find_the_program_and_configs_each_other(self):
        data = self.prefix / "share/dashlm"
        environment = {key: value for key, value in os.environ.items() if key != "DASHLM"}
        program = run(data / "scripts/preset.sh", "--program", env=environment).strip()
        self.assertEqual(program, str(self.prefix / "bin/dashlm"))
        run(program, "config", data / "configs/quickstart-dash.json")
        run("python3", "-B", data / "scripts/report.py", "--help")
        run("python3", "-B", data / "scripts/reproduce.py", "--help")

    def test_every_header_stands_alone_on_what_is_installed(self):
        include = self.prefix / "include/dashlm"
        headers = sorted(path.relative_to(include) for path in include.rglob("*.h"))
        self.assertGreater(len(headers), 50)
        source = self.folder / "all_headers"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(ALL_HEADERS)
        (source / "all.cpp").write_text("".join(f'#include "{h}"\n' for h in headers))
        self.build(source)

    def test_train_model_learns(self):
        build = self.build(ROOT / "examples/train_model")
        seen = losses(run(build / "train_model", ROOT / "README.md"))
        self.assertEqual(len(seen), 10)
        self.assertLess(seen[-1], seen[0] - 1.0)

    def lion(self, out, steps, *options):
        """The validation loss of a run of the example's program."""
        text = (ROOT / "README.md").read_bytes()
        tokens = self.folder / "tokens.bin"
        tokens.write_bytes(b"".join(byte.to_bytes(2, "little") for byte in text))
        config = self.folder / "lion.json"
        config.write_text(json.dumps({
            "model": {"n_layer": 1, "d_model": 32, "n_head": 2, "d_ff": 64, "vocab_size": 256,
                      "seq_len": 32},
            "data": {"train": str(tokens), "val": str(tokens)}, "device": "cpu",
            "train": {"batch": 8, "lr": 3e-3, "schedule": "constant", "warmup_steps": 3},
            "optimizer": {"type": "lion", "block_size": 16, "beta2": 0.98, "weight_decay": 0.1}}))
        run(self.lion_program, "train", config, "--out", out, "--set", f"train.steps={steps}",
            "--quiet", *options)
        return json.loads((out / "result.json").read_text())["val_loss"]

    def test_own_optimizer_trains_and_resumes(self):
        self.lion_program = self.build(ROOT / "examples/own_optimizer") / "dashlm_lion"
        whole = self.lion(self.folder / "whole", 60)
        self.assertLess(whole, 4.5)  # of a uniform guess: ln 256 = 5.5
        self.assertGreater(self.lion(self.folder / "parts", 30), whole)
        self.assertEqual(self.lion(self.folder / "parts", 60, "--resume"), whole)
        self.assertIn("lion", run(self.lion_program, "config"))
        refused = subprocess.run([self.prefix / "bin/dashlm", "config", self.folder / "lion.json"],
                                 capture_output=True, text=True, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("lion", refused.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
