#!/usr/bin/env python3
"""The comparison of two revisions, on stand-ins for their programs."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Prints what `dashlm bench` prints, with times that the n-th call takes from its list.
PROGRAM = """#!/usr/bin/env python3
import json, pathlib, sys
calls = pathlib.Path(__file__).with_name("calls")
count = len(calls.read_text()) if calls.exists() else 0
calls.write_text("x" * (count + 1))
ms = {times}[count]
if sys.argv[2] == "step":
    print(json.dumps({{"step_ms": ms}}))
elif sys.argv[2] == "optimizer":
    print(json.dumps({{"device": "a stand-in"}}))
    print(json.dumps({{"stacking": "rank", "total_ms": ms}}))
else:
    sys.exit("it broke")
"""


class CompareTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def program(self, name, times):
        path = self.folder / name / "dashlm"
        path.parent.mkdir()
        path.write_text(PROGRAM.format(times=times))
        path.chmod(0o755)
        return path.parent

    def compare(self, *options):
        return subprocess.run([sys.executable, "-B", ROOT / "scripts/compare_revisions.py", *options],
                              capture_output=True, text=True, check=False)

    def rows(self, old, new, *options):
        answer = self.compare("--programs", self.program("old", old), self.program("new", new),
                              "--rounds", str(len(old)), "--json", *options)
        return answer.returncode, json.loads(answer.stdout)

    def test_a_ratio_is_of_one_round_and_the_median_counts(self):
        # The machine becomes four times slower, which says nothing about the programs.
        code, rows = self.rows([10, 20, 40], [11, 24, 40], "--bench", "step")
        self.assertEqual(code, 0)
        self.assertEqual([row["figure"] for row in rows], ["step"])
        self.assertAlmostEqual(rows[0]["ratio"], 1.1)
        self.assertAlmostEqual(rows[0]["least"], 1.0)
        self.assertAlmostEqual(rows[0]["most"], 1.2)
        self.assertEqual((rows[0]["base_ms"], rows[0]["new_ms"]), (20, 24))

    def test_the_limit_decides_about_the_exit_code(self):
        code, _ = self.rows([10, 10, 10], [11, 11, 11], "--bench", "optimizer", "--limit", "1.05")
        self.assertEqual(code, 1)

    def test_within_the_limit_all_is_well(self):
        code, rows = self.rows([10, 10], [10, 9], "--bench", "optimizer", "--limit", "1.05")
        self.assertEqual(code, 0)
        self.assertEqual(rows[0]["figure"], "optimizer, stacking rank")

    def test_the_table_marks_what_is_slower(self):
        answer = self.compare("--programs", self.program("old", [10]), self.program("new", [20]),
                              "--rounds", "1", "--bench", "step", "--limit", "1.5")
        self.assertRegex(answer.stdout, r"step +10\.000 +20\.000 +2\.000  2\.000-2\.000  slower")

    def test_a_program_that_fails_is_named(self):
        answer = self.compare("--programs", self.program("old", [1]), self.program("new", [1]),
                              "--bench", "roots")
        self.assertEqual(answer.returncode, 2)
        self.assertIn("old/dashlm bench roots", answer.stderr)

    def test_each_revision_is_built_in_a_worktree_of_its_own(self):
        repository, tools = self.folder / "repository", self.folder / "tools"
        (repository / "scripts").mkdir(parents=True)
        tools.mkdir()
        # The stand-in for cmake "builds" the program that the revision holds.
        (tools / "cmake").write_text("#!/bin/sh\nmkdir -p build/release && cp dashlm build/release\n")
        (tools / "cmake").chmod(0o755)
        script = repository / "scripts/compare_revisions.py"
        script.write_bytes((ROOT / "scripts/compare_revisions.py").read_bytes())

        def git(*arguments):
            subprocess.run(["git", "-C", repository, "-c", "user.name=A", "-c", "user.email=a@b.c",
                            *arguments], check=True, capture_output=True)

        git("init", "-q")
        for ms in (10, 15):
            (repository / "dashlm").write_text(PROGRAM.format(times=[ms] * 2))
            (repository / "dashlm").chmod(0o755)
            git("add", "dashlm")
            git("commit", "-q", "-m", "a revision")
        answer = subprocess.run(
            [sys.executable, "-B", script, "HEAD~1", "--bench", "step", "--rounds", "2", "--json"],
            capture_output=True, text=True, check=False,
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertAlmostEqual(json.loads(answer.stdout)[0]["ratio"], 1.5)
        self.assertEqual(len(list((repository / "build/compare").iterdir())), 2)

    def test_a_revision_that_is_none_is_an_error(self):
        answer = self.compare("no-such-revision")
        self.assertEqual(answer.returncode, 2)
        self.assertIn("no-such-revision", answer.stderr)

    def test_one_or_two_revisions_are_named(self):
        self.assertEqual(self.compare().returncode, 2)
        self.assertEqual(self.compare("a", "b", "c").returncode, 2)


if __name__ == "__main__":
    unittest.main()
