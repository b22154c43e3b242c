#!/usr/bin/env python3
"""Installs a build to a temporary folder, and builds and runs the examples with what is there.

usage: install_test.py BUILD CXX [CMAKE]
"""
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

ALL_HEADERS = """cmake_minimum_required(VERSION 3.22)
project(all_headers LANGUAGES CXX)
find_package(dashlm REQUIRED)
add_library(all_headers OBJECT all_headers.cpp)
target_link_libraries(all_headers PRIVATE dashlm::cli)
"""


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
        (source / "all_headers.cpp").write_text("".join(f'#include "{h}"\n' for h in headers))
        self.build(source)

    def test_train_model_learns(self):
        build = self.build(ROOT / "examples/train_model")
        seen = losses(run(build / "train_model", ROOT / "README.md"))
        self.assertEqual(len(seen), 10)
        self.assertLess(seen[-1], seen[0] - 1.0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
