#!/usr/bin/env python3
"""The table of run times: its file, its arithmetic, and a tiny one through the program itself.

usage: test_runtime_table.py DASHLM
"""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DASHLM = pathlib.Path(sys.argv.pop() if len(sys.argv) > 1 else ROOT / "build/release/dashlm")
sys.path.insert(0, str(ROOT / "scripts"))

from experiments.reader import ExperimentError  # noqa: E402
from runtimes import spec  # noqa: E402
from runtimes.table import Table  # noqa: E402

BASE = {
    "model": {"n_layer": 1, "d_model": 16, "n_head": 2, "d_ff": 32, "vocab_size": 32, "seq_len": 16},
    "train": {"batch": 2}, "optimizer": {"type": "dash"}, "device": "cpu", "threads": 1}


class RuntimeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "base.json").write_text(json.dumps(BASE))
        self.file = {
            "base": "base.json",
            "set": {"optimizer": {"start": -1, "inverse_root": {"type": "newton_db"}}},
            "sizes": [{"name": "B=16", "set": {"optimizer": {"block_size": 16}}},
                      {"name": "B=8", "set": {"optimizer": {"block_size": 8}}}],
            "published_on": "another machine",
            "rows": [{"name": "NDB", "published": {"B=16": {"block": 300, "layer": 50, "rank": 40}}},
                     {"name": "NDB f=3", "set": {"optimizer": {"frequency": 3}},
                      "published": {"B=16": {"block": 100}}}],
            "headlines": [{"name": "Claim", "size": "B=16",
                           "slow": {"row": "NDB", "stacking": "block"},
                           "fast": {"row": "NDB", "stacking": "layer"}}]}

    def read(self):
        path = self.folder / "times.json"
        path.write_text(json.dumps(self.file))
        return spec.read(path)

    def run_script(self, *options):
        self.read()
        return subprocess.run(
            [sys.executable, "-B", str(ROOT / "scripts" / "runtime_table.py"),
             str(self.folder / "times.json"), "--out", str(self.folder / "out"), "--dashlm",
             str(DASHLM), *options], capture_output=True, text=True, timeout=600, check=False)


class SpecTest(RuntimeTest):
    def fails(self, *words):
        with self.assertRaises(ExperimentError) as caught:
            self.read()
        for word in ("times.json", *words):
            self.assertIn(word, str(caught.exception))

    def test_settings_of_all_of_the_size_and_of_the_row(self):
        runtimes = self.read()
        optimizer = runtimes.config(runtimes.sizes[1], runtimes.rows[1])["optimizer"]
        self.assertEqual(optimizer, {"start": -1, "inverse_root": {"type": "newton_db"},
                                     "block_size": 8, "frequency": 3})

    def test_figures_of_nothing(self):
        published = self.file["rows"][0]["published"]
        published["B=4"] = {}
        self.fails("rows[0].published.B=4", "none of B=16, B=8")
        del published["B=4"]
        for bad in ({"gpu": 1}, {"rank": 0}, {"rank": "1"}, {"rank": True}, 3):
            published["B=16"] = bad
            self.fails("rows[0].published.B=16")

    def test_headlines_of_nothing(self):
        headline = self.file["headlines"][0]
        for key, value in (("size", "B=4"), ("slow", {"row": "CN", "stacking": "block"}),
                           ("fast", {"row": "NDB", "stacking": "gpu"}), ("fast", {"row": "NDB"})):
            old, headline[key] = headline[key], value
            self.fails("headlines[0]", key)
            headline[key] = old

    def test_no_rows_and_unknown_keys(self):
        self.file["row"] = []
        self.fails("row", "unknown key")
        del self.file["row"]
        self.file["rows"] = self.file["headlines"] = []
        self.fails("rows", "at least one")


class TableTest(RuntimeTest):
    def line(self, total, frequency=1, peak=0):
        return {"total_ms": total, "frequency": frequency, "peak_ms": peak}

    def test_ratios_are_like_for_like(self):
        measured = {("B=16", "NDB"): {"block": self.line(12.0), "rank": self.line(4.0)}}
        ratios = {(one["size"], one["row"]): one for one in Table(self.read(), measured).ratios()}
        self.assertEqual(ratios["B=16", "NDB"]["measured"], 3.0)
        self.assertEqual(ratios["B=16", "NDB"]["published"], 7.5)
        self.assertEqual((ratios["B=8", "NDB"]["measured"], ratios["B=8", "NDB"]["published"]),
                         (None, None))
        self.assertIsNone(ratios["B=16", "NDB f=3"]["published"], "only one of two is published")

    def test_published_figures_stand_beside_measured_ones(self):
        measured = {("B=16", "NDB"): {"block": self.line(12.0), "layer": self.line(5.0),
                                      "rank": self.line(4.0)},
                    ("B=16", "NDB f=3"): {"block": self.line(2.0, 3, 5.0)}}
        text = Table(self.read(), measured, {"device": "a card", "ranks": 2}).markdown()
        for words in ("Measured on a card, slowest of 2 ranks.", "are of another machine.",
                      "| NDB | 12.0 | 300 | 5.0 | 50.0 | 4.0 | 40.0 | 3.00 | 7.50 |",
                      "| NDB f=3 | 2.0 (5.0) | 100 | - | - | - | - | - | - |",
                      "Claim: NDB `block` over NDB `layer` at B=16: measured 2.40, published 6.00"):
            self.assertIn(words, text)
        self.assertEqual(text.count("published |"), 4 * 2)

    def test_no_columns_without_figures(self):
        for row in self.file["rows"]:
            del row["published"]
        text = Table(self.read(), {("B=16", "NDB"): {"block": self.line(1.0)}}).markdown()
        self.assertNotIn("ublished", text)


class PaperTest(unittest.TestCase):
    """The files that are delivered."""

    def test_published_ratios(self):
        table = Table(spec.read(ROOT / "experiments" / "paper_runtime.json"), {})
        ratios = {(one["size"], one["row"]): one["published"] for one in table.ratios()}
        self.assertAlmostEqual(ratios["B=1024", "CN fp32"], 666 / 136)
        self.assertAlmostEqual(ratios["B=1024", "EVD f=1"], 3080 / 2850)
        self.assertIsNone(ratios["B=2048", "NDB Frobenius"])
        for headline in table.headlines():
            self.assertIn(f"{headline['published']:.3g}", headline["name"])

    def test_every_config_is_one_that_dashlm_knows(self):
        for name in ("paper_runtime", "small_runtime"):
            runtimes = spec.read(ROOT / "experiments" / f"{name}.json")
            for size in runtimes.sizes:
                for row in runtimes.rows:
                    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                        file.write(json.dumps(runtimes.config(size, row)))
                        file.flush()
                        answer = subprocess.run([DASHLM, "config", file.name], capture_output=True,
                                                text=True, check=False)
                    self.assertEqual(answer.returncode, 0, answer.stderr)


class ProgramTest(RuntimeTest):
    def setUp(self):
        super().setUp()
        self.file["sizes"].pop()

    def test_a_tiny_table(self):
        result = self.run_script("--steps", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        out = self.folder / "out"
        self.assertEqual((out / "runtime.md").read_text(), result.stdout)
        rows = list(csv.DictReader((out / "runtime.csv").read_text().splitlines()))
        self.assertEqual(len(rows), 2 * 3)
        for row in rows:
            self.assertGreater(float(row["measured_ms"]), 0)
            self.assertGreaterEqual(float(row["peak_ms"]), float(row["measured_ms"]))
            self.assertEqual(row["frequency"], "3" if row["row"] == "NDB f=3" else "1")
        self.assertEqual([row["published_ms"] for row in rows[:3]], ["300", "50", "40"])
        found = json.loads((out / "runtime.json").read_text())
        self.assertEqual(found["machine"]["ranks"], 1)
        self.assertGreater(found["ratios"][0]["measured"], 0)

    def test_what_dashlm_refuses(self):
        self.file["rows"][1]["set"]["optimizer"]["frequency"] = 0
        result = self.run_script()
        self.assertEqual(result.returncode, 1)
        for word in ("times.json", "B=16 / NDB f=3", "frequency"):
            self.assertIn(word, result.stderr)
        found = json.loads((self.folder / "out" / "runtime.json").read_text())
        self.assertIsNotNone(found["times"][0]["measured_ms"], "rows before it are kept")

    def test_published_alone_runs_nothing(self):
        result = self.run_script("--published", "--dashlm", "/nowhere")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("| NDB | 300 | 50.0 | 40.0 | 7.50 |", result.stdout)


if __name__ == "__main__":
    unittest.main()
