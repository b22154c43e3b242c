#!/usr/bin/env python3
"""The whole chain in small, through the program itself: an experiment is run, killed in the middle,
gone on with, evaluated, timed and reported.

usage: test_experiment_run.py DASHLM
"""
import csv
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DASHLM = pathlib.Path(sys.argv.pop() if len(sys.argv) > 1 else ROOT / "build/release/dashlm")

CONFIG = {
    "model": {"n_layer": 1, "d_model": 16, "n_head": 2, "d_ff": 32, "vocab_size": 32, "seq_len": 16},
    "data": {"train": "tokens.bin", "val": "tokens.bin"},
    "train": {"steps": 60, "batch": 4, "lr": 1e-2},
    "eval": {"every": 20, "batches": 4},
    "checkpoint": {"every": 5},
    "device": "cpu", "threads": 1}


class RealRunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        source = random.Random(1)
        tokens = [source.randrange(32) for _ in range(4096)]
        (self.folder / "tokens.bin").write_bytes(struct.pack(f"<{len(tokens)}H", *tokens))
        (self.folder / "base.json").write_text(json.dumps(CONFIG))
        (self.folder / "small.json").write_text(json.dumps({
            "base": "base.json", "seeds": [1, 2], "sweep": {"train.lr": [1e-3, 1e-2]},
            "evaluate": ["--outliers", "--quantize int8"],
            "comparisons": [{"claim": "it pays", "row": "DASH", "against": "AdamW"}],
            "rows": [{"name": "AdamW", "set": {"optimizer": {"type": "adamw"}}},
                     {"name": "DASH", "set": {"optimizer": {"type": "dash", "block_size": 16}}}]}))

    def command(self, *options, out="runs"):
        return [sys.executable, str(ROOT / "scripts" / "reproduce.py"),
                str(self.folder / "small.json"), "--out", str(self.folder / out),
                "--results", str(self.folder / out / "results"),
                "--dashlm", str(DASHLM), *options]

    def results(self, out):
        """Of every run, by the name of its folder."""
        found = {}
        for path in sorted((self.folder / out).glob("*/*/result.json")):
            result = json.loads(path.read_text())
            self.assertEqual(result["ended"], "finished", path)
            found[str(path.parent.relative_to(self.folder / out))] = result["val_loss"]
        return found

    def test_a_killed_experiment_comes_to_the_same_results(self):
        subprocess.run(self.command(out="whole"), check=True, timeout=200)
        whole = self.results("whole")
        self.assertEqual(len(whole), 2 * 3)
        worker = subprocess.Popen(self.command("--jobs", "2"), start_new_session=True)
        deadline = time.monotonic() + 100
        while not list(self.folder.glob("runs/*/*/checkpoints/step_*")):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        worker.kill()  # its trainings go on without it, and are waited for
        worker.wait()
        subprocess.run(self.command("--jobs", "2"), check=True, timeout=200)
        self.assertEqual(self.results("runs"), whole)

    def test_from_the_file_to_the_report(self):
        subprocess.run(self.command("--jobs", "2"), check=True, timeout=200)
        subprocess.run(self.command("--time"), check=True, timeout=200)
        out = self.folder / "report"
        said = subprocess.run(
            [sys.executable, str(ROOT / "scripts/report.py"), str(self.folder / "small.json"),
             "--results", str(self.folder / "runs/results"), "--out", str(out)],
            check=True, timeout=200, capture_output=True, text=True).stdout
        self.assertIn("DASH", said)
        text = (out / "report.md").read_text()
        for words in ("| it pays | DASH − AdamW |", "kurtosis, residual", "loss with int8 weights",
                      "Measured apart from the runs, in turn, on: ", "share of the step"):
            self.assertIn(words, text)
        with open(next(out.glob("*_loss.csv")), encoding="utf-8", newline="") as file:
            rows = {row["optimizer"]: row for row in csv.DictReader(file)}
        losses = self.results("runs")
        best = rows["DASH"]["best settings"].replace("lr ", "lr=")
        mean = sum(losses[f"dash/{best}_seed={seed}"] for seed in (1, 2)) / 2
        self.assertEqual(rows["DASH"]["loss"], f"{mean:.4f}")

    def test_a_dry_run_asks_the_program(self):
        listed = subprocess.run(self.command("--dry-run"), check=True, timeout=100,
                                capture_output=True, text=True).stdout
        self.assertEqual(listed.count("seed="), 2 * 3)
        self.assertIn("in all 6 runs", listed)


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    unittest.main()
