"""Makes the runs that are missing. Any number of workers may share the folders.

A worker claims a run by a lock on a file beside it, which its training inherits: the lock lasts as
long as anyone works on the run, and no longer, whoever is killed. Trainings resume where they were
cut.
"""
import contextlib
import os
import signal
import subprocess
import time

from . import record, sweep
from .estimate import hours
from .reader import ExperimentError
from .training import Claim, Training, beside


class Worker:
    """Works through an experiment, `jobs` trainings at a time; run() gives the exit code."""

    def __init__(self, grid, out, dashlm, launcher=(), jobs=1, say=print, poll=0.5):
        self.grid, self.out = grid, out
        self.launcher, self.dashlm = launcher, dashlm
        self.program = version_of(dashlm)
        self.jobs, self.say, self.poll = jobs, say, poll
        self.total = sum(sweep.most_runs(row) for _, row in grid.experiment.pairs())
        self.trainings, self.failed, self.signal = [], set(), 0

    def run(self):
        with self._signals():
            while not self.signal:
                self._collect()
                missing = self._missing()
                if not missing and not self.trainings:
                    break
                self._start([run for run in missing if run.path not in self.failed])
                if not self.trainings and all(run.path in self.failed for run in missing):
                    break
                time.sleep(self.poll)
            self._stop_all()
        return 128 + self.signal if self.signal else 1 if self.failed else 0

    @contextlib.contextmanager
    def _signals(self):
        def note(number, _):
            self.signal = number
        old = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)

    def _missing(self):
        """Runs without a record first, then those whose record lacks an evaluation."""
        pairs = list(self.grid.experiment.pairs())
        runs = [run for pair in pairs for run in self.grid.missing(*pair)]
        return runs + [run for pair in pairs for run in self.grid.all_runs(*pair)
                       if self.grid.record(run) and not self._done(run)]

    def _done(self, run):
        """A run whose folder is gone cannot be evaluated any more."""
        found = self.grid.record(run)
        return found is not None and (
            found["ended"] != "finished" or not (self.out / run.path).is_dir()
            or set(self.grid.experiment.evaluate) <= found["evaluated"].keys())

    def _start(self, runs):
        for run in runs:
            if len(self.trainings) >= self.jobs:
                return
            if any(training.run.path == run.path for training in self.trainings):
                continue
            claim = Claim.take(self.out / run.path)
            if claim is None:
                continue
            self.grid.known.pop(run.path, None)  # someone may have ended it since we looked
            if self._done(run):
                claim.release()
                continue
            try:
                self._check_folder(run)
            except ExperimentError as error:
                self.failed.add(run.path)
                self.say(f"failed  {run.name}: {error}")
                claim.release()
                continue
            self.say(f"start   {run.name}")
            answers = (self.grid.record(run) or {}).get("evaluated", {})
            self.trainings.append(
                Training(run, self.out / run.path, claim, self.launcher, self.dashlm, answers))

    def _check_folder(self, run):
        """A run that was begun with other settings must not be gone on with, nor recorded."""
        folder = self.out / run.path
        asked = beside(folder, ".asked")
        then = record.load(asked) if (folder / "config.json").is_file() else None
        if then is not None:
            self.grid.check(run, then, folder, "the folder")
        record.save(asked, self.grid.asked(run))

    def _collect(self):
        for training in [one for one in self.trainings if one.ended()]:
            self.trainings.remove(training)
            self._report(training, training.record(self.grid, self.program))
            training.close()

    def _report(self, training, found):
        run = training.run
        if found is None:
            self.failed.add(run.path)
            self.say(f"failed  {run.name}: exit code {training.exit_code}: "
                     f"{training.last_words()} (all of it in {beside(training.folder, '.log')})")
        elif found["ended"] == "diverged":
            self.say(f"diverged {run.name} at step {found['step']} {self._progress()}")
        else:
            self.say(f"done    {run.name}: loss {text_of(found['val_loss'])} {self._progress()}")

    def _progress(self):
        """Of the whole grid, with the time that is left if the other runs are like those done."""
        records = [self.grid.record(run) for size, row in self.grid.experiment.pairs()
                   for run in self.grid.all_runs(size, row)]
        seconds = [one["wall_s"] for one in records if one]
        left = self.total - len(seconds)
        eta = left * sum(seconds) / max(len(seconds), 1) / self.jobs
        return f"[{len(seconds)} of {self.total}, {hours(eta)} left]"

    def _stop_all(self):
        for training in self.trainings:
            training.stop()
        for training in self.trainings:
            training.close()


def text_of(loss):
    return "none (eval.final is off)" if loss is None else f"{loss:.4f}"


def version_of(dashlm):
    """"dashlm 1.2.3 (commit 1234567)"; empty of a program that does not say it."""
    with contextlib.suppress(OSError):
        answer = subprocess.run([os.fspath(dashlm), "--version"], capture_output=True, text=True,
                                check=False)
        return answer.stdout.partition("\n")[0] if answer.returncode == 0 else ""
    return ""
