"""Experiments: files, sweeps, and workers that share a folder, with a program that stands in for
dashlm (fake_dashlm.py)."""
import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from experiments import reader, spec, sweep  # noqa: E402

FAKE = ROOT / "tests" / "scripts" / "fake_dashlm.py"


class ExperimentTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.starts = self.folder / "starts"
        (self.folder / "base.json").write_text('{"train": {"lr": 0.1, "seed": 1}}')
        self.file = {
            "base": "base.json",
            "rows": [{"name": "AdamW", "set": {"optimizer": {"type": "adamw"}}},
                     {"name": "DASH NDB", "set": {"optimizer": {"type": "dash"}}}],
            "sweep": {"train.lr": [0.001, 0.01, 0.1], "optimizer.weight_decay": [0, 0.1]},
            "seeds": [1, 2]}

    def write(self, name="exp.json"):
        path = self.folder / name
        path.write_text(json.dumps(self.file))
        return path

    def command(self, *options, name="exp.json"):
        return [sys.executable, str(ROOT / "scripts" / "reproduce.py"), str(self.folder / name),
                "--out", str(self.folder / "runs"), "--dashlm", str(FAKE), *options]

    def environment(self):
        return {**os.environ, "FAKE_STARTS": str(self.starts)}

    def reproduce(self, *options, name="exp.json"):
        return subprocess.run(self.command(*options, name=name), capture_output=True, text=True,
                              env=self.environment(), timeout=120, check=False)

    def started(self):
        return self.starts.read_text().splitlines() if self.starts.exists() else []


class SpecTest(ExperimentTest):
    def fails(self, *words):
        path = self.write()
        with self.assertRaises(reader.ExperimentError) as caught:
            spec.read(path)
        for word in (str(path), *words):
            self.assertIn(word, str(caught.exception))

    def test_reads_comments_and_defaults(self):
        path = self.folder / "exp.json"
        path.write_text('{"base": "base.json", // what for\n "rows": [{"name": "a // b"}]}')
        row = spec.read(path).rows[0]
        self.assertEqual((row.name, row.seeds, row.sweep), ("a // b", (1,), {}))

    def test_unknown_keys(self):
        self.file["rows"][1]["sett"] = {}
        self.fails("rows[1].sett", "unknown key")

    def test_rows_alike(self):
        self.file["rows"][1]["name"] = "adamw!"
        self.fails("rows[1].name", "alike")
        self.file["rows"][1] = {**self.file["rows"][0], "name": "other"}
        self.fails("rows[1]", 'the same as "AdamW"')

    def test_grids_of_nothing(self):
        for key, value in (("rows", []), ("seeds", []), ("seeds", [1, 1]), ("seeds", [True])):
            old, self.file[key] = self.file[key], value
            self.fails(key)
            self.file[key] = old
        for values in ([], [1, 1], [{}], 3):
            self.file["sweep"] = {"train.lr": values}
            self.fails("sweep.train.lr")
        self.file["sweep"] = {"a.lr": [1], "b.lr": [1]}
        self.fails("end alike")

    def test_names_that_lead_nowhere(self):
        self.file["rows"][0]["sizes"] = ["4M"]
        self.fails("rows[0].sizes", "4M")
        del self.file["rows"][0]["sizes"]
        self.file["base"] = "absent.json"
        self.fails("base", "absent.json")

    def test_comparisons_name_rows(self):
        for one, words in (({"row": "AdamW", "against": "Muon"}, "Muon"),
                           ({"row": "AdamW", "against": "AdamW"}, "against"),
                           ({"row": "AdamW", "against": "DASH NDB", "expect": "higher"}, "expect")):
            self.file["comparisons"] = [{"claim": "c", **one}]
            self.fails("comparisons[0]", words)
        del self.file["comparisons"]
        self.file["baseline"] = "SGD"
        self.fails("baseline", "SGD")
        del self.file["baseline"]
        self.file["targets"] = ["low"]
        self.fails("targets", "losses")

    def test_equal_keys(self):
        path = self.folder / "exp.json"
        path.write_text('{"base": "base.json", "base": "base.json"}')
        with self.assertRaisesRegex(reader.ExperimentError, "twice"):
            spec.read(path)


class SweepTest(ExperimentTest):
    def run_out(self, loss):
        """All settings of the first row in the order they are asked for, and the last state."""
        row, known = spec.read(self.write()).rows[0], {}
        while True:
            state = sweep.state_of(row, known.get)
            if not state.missing:
                return list(known), state
            for settings in state.missing:
                known[settings] = loss(dict(settings.values), settings.seed)

    def test_goes_key_by_key_from_the_best_so_far(self):
        def loss(values, seed):
            return abs(values["train.lr"] - 0.001) + values["optimizer.weight_decay"] + seed
        made, state = self.run_out(loss)
        self.assertEqual([one.name for one in made],
                         ["lr=0.001_weight_decay=0.1_seed=1", "lr=0.01_weight_decay=0.1_seed=1",
                          "lr=0.1_weight_decay=0.1_seed=1", "lr=0.001_weight_decay=0_seed=1",
                          "lr=0.001_weight_decay=0_seed=2"])
        self.assertEqual(state.best, (("train.lr", 0.001), ("optimizer.weight_decay", 0)))
        self.assertEqual(state.at_edge, ("train.lr",))  # no decay is less than none
        self.assertEqual(len(made), sweep.most_runs(spec.read(self.write()).rows[0]))

    def test_a_diverged_run_is_the_worst(self):
        def loss(values, _):
            return float("inf") if values["train.lr"] < 0.1 else 5.0
        _, state = self.run_out(loss)
        self.assertEqual(dict(state.best)["train.lr"], 0.1)

    def test_a_middle_is_no_edge(self):
        _, state = self.run_out(lambda values, _: abs(values["train.lr"] - 0.01))
        self.assertEqual(state.at_edge, ())


class WorkerTest(ExperimentTest):
    def test_runs_what_is_missing_and_nothing_twice(self):
        self.write()
        first = self.reproduce()
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(len(self.started()), 2 * 5)
        self.assertEqual(len(set(self.started())), 2 * 5)
        self.assertIn("[10 of 10, 0 s left]", first.stdout)
        self.assertEqual(self.reproduce().stdout, "")
        self.file["seeds"].append(3)
        self.write()
        self.assertEqual(self.reproduce().returncode, 0)
        self.assertEqual(len(self.started()), 2 * 6)

    def test_configs_are_those_of_the_rows(self):
        self.write()
        self.reproduce()
        config = json.loads((self.folder / "runs/dash-ndb/lr=0.01_weight_decay=0_seed=2.json")
                            .read_text())
        self.assertEqual(config["optimizer"], {"type": "dash", "weight_decay": 0})
        self.assertEqual((config["train"]["seed"], config["data"]["seed"]), (2, 2))

    def test_a_dry_run_lists_everything_and_runs_nothing(self):
        self.write()
        listed = self.reproduce("--dry-run")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertEqual(listed.stdout.count("seed="), 2 * 5)
        self.assertIn("in all 10 runs, 0.01G tokens, ?", listed.stdout)
        self.assertEqual(self.started(), [])
        self.assertFalse((self.folder / "runs").exists())

    def test_time_is_that_of_a_gpu_or_of_finished_runs(self):
        self.file["gpu"] = "H100"
        self.write()
        self.assertIn("in all 10 runs, 0.01G tokens, 2 min", self.reproduce("--dry-run").stdout)
        self.reproduce()
        listed = self.reproduce("--dry-run").stdout
        self.assertIn("in all 10 runs, 0.01G tokens, 20 s", listed)
        self.assertEqual(listed.count("finished run"), 2)

    def test_a_bad_setting_is_told_before_anything_runs(self):
        self.file["rows"][1]["set"]["optimizer"]["typo"] = 1
        self.write()
        refused = self.reproduce()
        self.assertEqual(refused.returncode, 1)
        self.assertIn("DASH NDB", refused.stderr)
        self.assertIn("unknown key optimizer.typo", refused.stderr)
        self.assertEqual(self.started(), [])

    def test_evaluations_and_final_losses_are_looked_at_first(self):
        self.file["evaluate"] = ["--typo"]
        self.write()
        self.assertIn("evaluate: \"--typo\": no option", self.reproduce("--dry-run").stderr)
        del self.file["evaluate"]
        self.file["rows"][0]["set"]["eval"] = {"final": False}
        self.write()
        self.assertIn("eval.final is false", self.reproduce("--dry-run").stderr)

    def test_a_folder_belongs_to_one_experiment(self):
        self.write()
        self.write("other.json")
        self.assertEqual(self.reproduce().returncode, 0)
        other = self.reproduce(name="other.json")
        self.assertEqual(other.returncode, 1)
        self.assertIn("experiment exp", other.stderr)

    def test_a_record_alone_ends_a_run(self):
        self.write()
        self.reproduce()
        shutil.rmtree(self.folder / "runs")
        self.assertEqual(self.reproduce().stdout, "")
        self.assertEqual(len(self.started()), 10)

    def test_a_finished_run_without_a_record_gets_one(self):
        self.write()
        self.reproduce()
        path = self.folder / "results/exp/adamw/lr=0.01_weight_decay=0_seed=2.json"
        before = path.read_text()
        path.unlink()
        self.assertIn("done    AdamW", self.reproduce().stdout)
        self.assertEqual(path.read_text(), before)
        self.assertEqual(len(self.started()), 10)

    def test_records_say_what_a_report_needs(self):
        self.write()
        self.reproduce()
        record = json.loads((self.folder / "results/exp/adamw/lr=0.01_weight_decay=0_seed=2.json")
                            .read_text())
        self.assertEqual(record["run"], "AdamW / lr=0.01_weight_decay=0_seed=2")
        self.assertEqual(record["asked"], {
            "optimizer.type": "adamw", "optimizer.weight_decay": 0, "train.lr": 0.01,
            "train.seed": 2, "data.seed": 2})
        self.assertEqual(record["program"], "dashlm of paper")
        self.assertEqual((record["step_ms"], record["optimizer_ms"]), (100, 20))
        self.assertEqual(record["curve"]["seconds"][-1], 1.0)
        self.assertEqual(record["val"]["step"], [5, 10])

    def test_a_record_of_other_settings_is_refused(self):
        self.write()
        self.reproduce()
        self.file["rows"][1]["set"]["optimizer"]["block_size"] = 7
        self.write()
        refused = self.reproduce("--dry-run")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("made with optimizer.block_size = None, but", refused.stderr)
        del self.file["rows"][1]["set"]["optimizer"]["block_size"]
        self.write()
        (self.folder / "base.json").write_text('{"train": {"lr": 0.1, "seed": 1, "steps": 5}}')
        self.assertIn("train.steps = None", self.reproduce("--dry-run").stderr)

    def test_finished_runs_are_evaluated(self):
        self.file["evaluate"] = ["--outliers", "--quantize int8"]
        self.write()
        self.assertEqual(self.reproduce().returncode, 0)
        record = json.loads((self.folder / "results/exp/adamw/lr=0.01_weight_decay=0_seed=2.json")
                            .read_text())
        self.assertEqual(record["evaluated"]["--quantize int8"],
                         {"options": ["--json", "--quantize", "int8"]})
        self.file["evaluate"].append("--quantize int4")
        self.write()
        self.assertEqual(self.reproduce().returncode, 0)
        record = json.loads((self.folder / "results/exp/adamw/lr=0.01_weight_decay=0_seed=2.json")
                            .read_text())
        self.assertEqual(list(record["evaluated"]),
                         ["--outliers", "--quantize int8", "--quantize int4"])
        self.assertEqual(len(self.started()), 10)
        shutil.rmtree(self.folder / "runs")
        self.file["evaluate"].append("--quantize int2")  # which nobody can answer any more
        self.write()
        self.assertEqual(self.reproduce().stdout, "")
        self.file["rows"][0]["set"]["fake"] = {"eval_exit": 1}
        self.file["rows"] = [{**self.file["rows"][0], "name": "Broken"}]
        self.write()
        failed = self.reproduce()
        self.assertEqual(failed.returncode, 1)
        self.assertIn("exit code 1: the weights are gone", failed.stdout)
        self.assertFalse((self.folder / "results/exp/broken").exists())

    def test_divergence_is_a_result(self):
        self.file["sweep"] = {"train.lr": [0.01, 10]}
        self.file["rows"][1]["set"]["fake"] = {"diverge": True}
        self.write()
        result = self.reproduce()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("diverged AdamW / lr=10_seed=1 at step 7", result.stdout)
        self.assertIn("diverged DASH NDB / lr=0.01_seed=2 at step 7", result.stdout)
        self.assertEqual(self.reproduce().stdout, "")

    def test_a_failed_run_does_not_keep_others_from_running(self):
        self.file["rows"][0]["set"]["fake"] = {"exit": 2}
        self.write()
        result = self.reproduce()
        self.assertEqual(result.returncode, 1)
        self.assertIn("exit code 2: the machine is on fire", result.stdout)
        self.assertEqual(result.stdout.count("done "), 5)

    def test_workers_divide_the_runs(self):
        self.file["rows"][0]["set"]["fake"] = self.file["rows"][1]["set"]["fake"] = {"slow": 0.2}
        self.write()
        workers = [subprocess.Popen(self.command("--jobs", "2"), stdout=subprocess.PIPE, text=True,
                                    env=self.environment()) for _ in range(3)]
        outputs = [worker.communicate(timeout=120)[0] for worker in workers]
        self.assertEqual([worker.returncode for worker in workers], [0, 0, 0])
        times = collections.Counter(self.started())
        self.assertEqual(len(times), 10)
        self.assertEqual(set(times.values()), {1})
        self.assertEqual(sum(output.count("done ") for output in outputs), 10)

    def test_a_worker_may_be_killed(self):
        self.file["rows"] = self.file["rows"][:1]
        self.file["sweep"], self.file["seeds"] = {}, [1]
        self.file["rows"][0]["set"]["fake"] = {"slow": 2}
        self.write()
        worker = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, env=self.environment())
        while not self.started():
            time.sleep(0.01)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        # Its training goes on, so nobody else begins it.
        again = self.reproduce()
        self.assertEqual(again.returncode, 0)
        self.assertEqual(len(self.started()), 1)

    def test_trainings_are_stopped_with_their_worker(self):
        self.file["rows"][0]["set"]["fake"] = {"slow": 60}
        self.write()
        worker = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, env=self.environment())
        while not self.started():
            time.sleep(0.01)
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(timeout=30), 128 + signal.SIGTERM)


class SlurmTest(ExperimentTest):
    def test_a_job_is_a_worker_that_is_requeued_when_it_is_stopped(self):
        self.file["rows"] = self.file["rows"][:1]
        self.file["rows"][0]["set"]["fake"] = {"slow": 60}
        self.write()
        said = self.folder / "scontrol-said"
        for name, text in (("srun", 'while [[ $1 == -* ]]; do shift; done; exec "$@"'),
                           ("scontrol", f'echo "$@" > {said}')):
            program = self.folder / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(f"#!/usr/bin/env bash\n{text}\n")
            program.chmod(0o755)
        job = subprocess.Popen(
            ["bash", "scripts/launch/experiment.sbatch", *self.command()[2:]], cwd=ROOT,
            stdout=subprocess.DEVNULL, env={
                **self.environment(), "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
                "SLURM_JOB_ID": "7", "SLURM_ARRAY_JOB_ID": "5", "SLURM_ARRAY_TASK_ID": "2"})
        while not self.started():
            time.sleep(0.01)
        job.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait(timeout=30), 128 + signal.SIGTERM)
        self.assertEqual(said.read_text(), "requeue 5_2\n")


if __name__ == "__main__":
    unittest.main()
