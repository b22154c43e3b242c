"""Reports: statistics against known values, tables from made-up records, and what is written."""
import csv
import json
import math
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from experiments import record, spec  # noqa: E402
from experiments.runs import Grid  # noqa: E402
from reporting import content, drawing, stats, summary, tables  # noqa: E402


BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)


class StatsTest(unittest.TestCase):
    def test_quantiles_of_students_t(self):
        for degrees, known in ((1, 12.7062), (10, 2.2281), (11, 2.2010), (20, 2.0860),
                               (30, 2.0423), (120, 1.9799)):
            self.assertAlmostEqual(stats.t_quantile(degrees), known, delta=2e-4)

    def test_paired_differences_leave_out_what_seeds_share(self):
        losses = {1: 3.1, 2: 3.6, 3: 2.9}
        others = {1: 3.0, 2: 3.52, 3: 2.81, 4: 9.0}
        found = stats.paired_difference(losses, others)
        each = [0.1, 0.08, 0.09]
        half = 4.3027 * statistics.stdev(each) / math.sqrt(3)
        self.assertAlmostEqual(found.mean, 0.09)
        self.assertAlmostEqual(found.low, 0.09 - half)
        self.assertAlmostEqual(found.high, 0.09 + half)
        self.assertTrue(found.certain)
        self.assertFalse(stats.paired_difference({1: 1.0, 2: 2.0}, {1: 2.0, 2: 1.0}).certain)

    def test_one_seed_has_no_interval(self):
        found = stats.paired_difference({1: 3.0}, {1: 3.1})
        self.assertIsNone(found.low)
        self.assertFalse(found.certain)
        self.assertIsNone(stats.paired_difference({1: 3.0}, {2: 3.1}))

    def test_intervals_hold_the_truth_as_often_as_they_say(self):
        source, hits = random.Random(1), 0
        for _ in range(4000):
            first = {seed: source.gauss(1.0, 0.2) for seed in range(5)}
            found = stats.paired_difference(first, dict.fromkeys(first, 0.0))
            hits += found.low < 1.0 < found.high
        self.assertAlmostEqual(hits / 4000, 0.95, delta=0.012)

    def test_seeds_needed(self):
        self.assertEqual(stats.seeds_needed(0.01, 0.003), 3)   # 4.3027·0.003/√3 = 0.0075
        self.assertEqual(stats.seeds_needed(0.007, 0.003), 4)  # 3.1824·0.003/√4 = 0.0048
        self.assertIsNone(stats.seeds_needed(1e-6, 1.0))

    def test_targets_lie_between_validations(self):
        self.assertEqual(stats.first_below([10, 20, 30], [5, 4, 3], 3.5), 25)
        self.assertEqual(stats.first_below([10, 20], [5, 4], 5), 10)
        self.assertIsNone(stats.first_below([10, 20], [5, 4], 3.9))


def made_up(grid, run, loss, diverged=False):
    steps = list(range(1, 101))
    curve = {"step": steps, "tokens": [1000 * s for s in steps],
             "loss": [loss + 4 * math.exp(-s / 20) for s in steps],
             "seconds": [0.1 * s for s in steps], "optimizer_seconds": [0.02 * s for s in steps]}
    return {"run": run.name, "config": grid.asked(run), "asked": grid.asked(run), "program": "p",
            "ended": "diverged" if diverged else "finished", "step": 40 if diverged else 100,
            "tokens": 100000, "wall_s": 11.0, "val_loss": None if diverged else loss,
            "reason": "3 steps in a row" if diverged else "", "machine": "a machine",
            "parameters": 12345, "bytes_per_rank": 2**30, "step_ms": 100.0, "optimizer_ms": 20.0,
            "curve": curve, "evaluated": {},
            "val": {"step": [20, 60, 100], "loss": [loss + 1, loss + 0.5, loss]}}


class ReportTest(unittest.TestCase):
    LOSSES = {"AdamW": (4.0, 4.02, 4.01), "DASH": (3.9, 3.921, 3.908), "Near": (4.001, 4.019, 4.01)}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "base.json").write_text('{"train": {"lr": 0.1}}')
        self.file = {
            "base": "base.json", "title": "A <title>", "seeds": [1, 2, 3],
            "sweep": {"train.lr": [0.001, 0.01, 0.1]}, "published": "a paper",
            "rows": [{"name": "AdamW", "set": {"optimizer": {"type": "adamw"}}},
                     {"name": "DASH", "set": {"optimizer": {"type": "dash"}},
                      "published": {"perplexity": 11.8}},
                     {"name": "Near", "set": {"optimizer": {"type": "shampoo"}}}],
            "comparisons": [
                {"claim": "DASH wins", "row": "DASH", "against": "AdamW"},
                {"claim": "AdamW wins", "row": "AdamW", "against": "DASH"},
                {"claim": "no matter", "row": "Near", "against": "AdamW", "expect": "same"},
                {"claim": "exactly", "row": "Near", "against": "AdamW", "expect": "same",
                 "within": 0.0001}]}

    def grid(self):
        path = self.folder / "exp.json"
        path.write_text(json.dumps(self.file))
        experiment = spec.read(path)
        return Grid(experiment, experiment.results)

    def fill(self, rows=("AdamW", "DASH", "Near"), best=0.01):
        """Records as a sweep would leave them; 0.1 diverges for DASH."""
        grid = self.grid()
        for size, row in grid.experiment.pairs():
            while row.name in rows and grid.missing(size, row):
                for run in grid.missing(size, row):
                    rate, seed = dict(run.settings.values)["train.lr"], run.settings.seed
                    loss = self.LOSSES[row.name][seed - 1] + (0 if rate == best else 0.3)
                    record.save(grid.record_path(run), made_up(
                        grid, run, loss, diverged=row.name == "DASH" and rate == 0.1))
        return self.grid()

    def table(self, report, name):
        found = next(table for table in report.tables() if table.name == name)
        return {row[0]: dict(zip(found.header, row)) for row in found.rows}

    def report(self, grid):
        return content.of_experiment(grid.experiment, summary.of_experiment(grid))

    def texts(self, report):
        return " ".join(part for section in report.sections for part in section.parts
                        if isinstance(part, str))

    def test_final_losses_in_order_with_intervals(self):
        report = self.report(self.fill())
        rows = self.table(report, "loss")
        self.assertEqual(list(rows), ["DASH", "AdamW", "Near"])
        self.assertEqual(rows["DASH"]["best settings"], "lr 0.01")
        self.assertEqual(rows["DASH"]["loss"], "3.9097")
        self.assertEqual(rows["DASH"]["perplexity"], f"{math.exp(3.909666667):.2f}")
        self.assertEqual(rows["DASH"]["against it"], "lower")
        self.assertEqual(rows["DASH"]["difference from AdamW [95%]"][:7], "−0.1003")
        self.assertEqual(rows["DASH"]["perplexity (published)"], "11.80")
        self.assertEqual(rows["Near"]["against it"], "not told apart")
        self.assertIn("every other row is higher", self.texts(report))

    def test_no_winner_is_named_inside_the_interval(self):
        report = self.report(self.fill(rows=("AdamW", "Near")))
        self.assertIn("these seeds cannot tell it from", self.texts(report))
        self.assertIn("DASH", self.texts(report))  # as not run yet

    def test_claims(self):
        said = self.table(self.report(self.fill()), "claims")
        self.assertEqual(said["DASH wins"]["here"], "holds")
        self.assertEqual(said["AdamW wins"]["here"], "does not hold: it is higher")
        self.assertEqual(said["no matter"]["here"], "holds within ±0.01")
        self.assertEqual(said["exactly"]["here"], "cannot be told to within ±0.0001")

    def test_edges_of_sweeps_are_told(self):
        self.assertNotIn("edge", self.texts(self.report(self.fill())))
        for path in self.folder.glob("results/exp/*/*"):
            path.unlink()
        self.assertIn("edge of the sweep, so a better one may lie beyond it: train.lr = 0.001 ("
                      "AdamW, DASH, Near)", self.texts(self.report(self.fill(best=0.001))))

    def test_targets(self):
        self.file["targets"] = [4.5, 1.0]
        rows = self.table(self.report(self.fill()), "targets")
        margin = stats.ONE_SIDED * stats.pooled_spread(list(self.LOSSES.values())) / math.sqrt(3)
        self.assertEqual(rows["AdamW"]["tokens to 4.0100"], "0.1M")
        mean = statistics.mean(self.LOSSES["DASH"])
        step = 60 + 40 * (mean + 0.5 - (4.01 - margin)) / 0.5
        self.assertEqual(rows["DASH"]["tokens to 4.0100"], f"{step / 1000:.3g}M")
        self.assertEqual(rows["DASH"]["tokens to 1.0000"], "never")

    def test_divergences_are_rows(self):
        rows = self.table(self.report(self.fill()), "divergences")
        self.assertEqual((rows["DASH"]["run"], rows["DASH"]["step"]), ("lr=0.1_seed=1", "40"))

    def test_a_row_that_lacks_runs_says_so(self):
        grid = self.fill()
        next(self.folder.glob("results/exp/dash/lr=0.01_seed=3.json")).unlink()
        rows = self.table(self.report(self.grid()), "loss")
        self.assertEqual(rows["DASH"]["seeds"], "2")
        self.assertIn("1 of 5 runs missing", rows["DASH"]["against it"])
        self.assertTrue(grid.results.is_dir())

    def test_times_measured_apart_come_first(self):
        grid = self.fill()
        for size, row in grid.experiment.pairs():
            record.save(grid.time_path(size, row), {
                "step_ms": 50.0 if row.name == "AdamW" else 75.0, "optimizer_ms": 15.0,
                "machine": "quiet"})
        report = self.report(self.grid())
        rows = self.table(report, "cost")
        self.assertEqual(rows["DASH"]["of the baseline's"], "1.50×")
        self.assertEqual(rows["DASH"]["share of the step"], "20.0%")

    def test_outliers_and_rounded_weights(self):
        grid = self.fill(rows=("AdamW", "DASH"))
        for size, row in grid.experiment.pairs():
            for run in grid.all_runs(size, row):
                found = grid.record(run)
                if found is None:
                    continue
                seed, factor = run.settings.seed, 2 if row.name == "AdamW" else 1
                found["evaluated"] = {
                    "--outliers": {"outliers": {"summary": {site: {figure: {
                        "max": factor * (seed + 3), "mean": 0} for figure in (
                            "kurtosis", "max_over_rms", "beyond_6_sigma")} for site in ("a", "b")}}},
                    "--quantize int4": {"quantized": {
                        "val_loss": 5.0, "val_loss_difference": factor * (0.1 + 0.001 * seed)}}}
                grid.save(run, found)
        report = self.report(self.grid())
        outliers = self.table(report, "outliers")
        self.assertEqual(outliers["AdamW"]["kurtosis, a"], "10.00")
        self.assertEqual(outliers["DASH"]["max/rms, b"], "5.00")
        rounded = self.table(report, "quantized_int4")
        self.assertEqual(rounded["DASH"]["increase"], "+0.10200")
        self.assertEqual(rounded["DASH"]["increase minus that of AdamW [95%]"],
                         "−0.10200 [−0.10448, −0.09952]")

    def run_report(self, *arguments):
        return subprocess.run([sys.executable, "-B", str(ROOT / "scripts/report.py"),
                               *map(str, arguments)], capture_output=True, text=True, check=False)

    def test_writes_every_form(self):
        self.fill()
        out = self.folder / "out"
        done = self.run_report(self.folder / "exp.json", "--out", out, "--markdown",
                               self.folder / "page.md")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out / "01_loss.csv", encoding="utf-8", newline="") as file:
            self.assertEqual(next(csv.DictReader(file))["optimizer"], "DASH")
        self.assertIn("| DASH | lr 0.01 | 3 |", (out / "report.md").read_text())
        if drawing.library() is None:
            self.assertIn("pip install", done.stderr)
            return
        page = (out / "report.html").read_text()
        self.assertIn("<h1>A &lt;title&gt;</h1>", page)
        self.assertEqual(page.count('class="chart"'), 4)
        for outside in ("<script src", "<link", "@import", 'src="http'):
            self.assertNotIn(outside, page)
        for name in ("01_differences", "02_validation_loss", "03_training_loss", "04_sweeps"):
            self.assertEqual((out / f"{name}.png").read_bytes()[:4], b"\x89PNG")
            self.assertIn(f"{name}.png", (out / "report.md").read_text())
        self.assertIn("](page/01_differences.png)", (self.folder / "page.md").read_text())

    @unittest.skipIf(drawing.library() is None, "vl-convert is not installed")
    @unittest.skipIf(BROWSER is None, "no browser is installed")
    def test_a_browser_draws_every_chart(self):
        self.fill()
        self.run_report(self.folder / "exp.json", "--out", self.folder)
        shown = subprocess.run(
            [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
             "--virtual-time-budget=20000", f"--user-data-dir={self.folder / 'profile'}",
             "--dump-dom", (self.folder / "report.html").as_uri()],
            capture_output=True, text=True, timeout=120, check=False)
        self.assertNotRegex(shown.stderr, "CONSOLE.*Error")
        self.assertEqual(len(re.findall('<svg[^>]* class="marks"', shown.stdout)), 4)
        self.assertEqual(len(re.findall('<button[^>]* aria-pressed', shown.stdout)), 2 * 4)

    def test_an_experiment_without_records(self):
        self.grid()
        done = self.run_report(self.folder / "exp.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no records; make the runs with scripts/reproduce.py", done.stderr)

    def test_run_directories(self):
        for name, seed, loss in (("a1", 1, 4.0), ("a2", 2, 4.1), ("b", 1, 3.9), ("cut", 1, None)):
            run = self.folder / name
            run.mkdir()
            (run / "config.json").write_text(json.dumps({
                "train": {"seed": seed, "lr": {"a": 0.1, "b": 0.2, "c": 0.3}[name[0]]},
                "data": {"seed": seed}, "out": name}))
            lines = [{"kind": "train", "step": s, "tokens": 10 * s, "loss": 5 - 0.1 * s,
                      "step_ms": 10.0, "optimizer_ms": 1.0} for s in range(1, 6)]
            lines.append({"kind": "eval", "step": 5, "val_loss": loss or 4.5})
            text = "".join(json.dumps(line) + "\n" for line in lines) + '{"kind": "tr'
            (run / "metrics.jsonl").write_text(text)
            if loss:
                (run / "result.json").write_text(json.dumps(
                    {"ended": "finished", "step": 5, "tokens": 50, "wall_s": 1, "val_loss": loss}))
        rows = summary.of_folders([self.folder / name for name in ("a1", "a2", "b", "cut")])
        report = content.of_runs(rows)
        table = self.table(report, "loss")
        self.assertEqual((table["a1"]["seeds"], table["a1"]["loss"]), ("2", "4.0500"))
        self.assertIn("one seed", table["b"]["against it"])
        self.assertEqual(table["cut"]["against it"], "not at its end at step 5")
        self.assertEqual(self.table(report, "settings")["train.lr"]["b"], "0.2")
        self.assertEqual(tables.costs(rows, rows[0]).rows[0][1], "10.0")

    @unittest.skipIf(drawing.library() is None, "vl-convert is not installed")
    def test_docs_results_is_made_from_the_committed_records(self):
        page = self.folder / "results.md"
        done = self.run_report(ROOT / "experiments/small_perplexity.json", "--markdown", page,
                               "--out", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)

        def words(path):
            return [line for line in path.read_text().splitlines()
                    if not line.startswith(("Made by", "!["))]
        self.assertEqual(words(ROOT / "docs/results.md"), words(page),
                         "run scripts/report.py experiments/small_perplexity.json "
                         "--markdown docs/results.md")

    def test_what_is_no_run_directory(self):
        done = self.run_report(self.folder)
        self.assertIn(f"{self.folder} is no run directory: it has no config.json", done.stderr)
        (self.folder / "config.json").write_text("{}")
        (self.folder / "metrics.jsonl").write_text('{"kind": "train"}\n')
        self.assertIn("metrics.jsonl: line 1 is damaged", self.run_report(self.folder).stderr)


if __name__ == "__main__":
    unittest.main()
