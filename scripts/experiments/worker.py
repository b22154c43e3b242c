"""Makes the runs that are missing. Any number of workers may share a folder.

A worker claims a run by a lock on a file beside it, which its training inherits: the lock lasts as
long as anyone works on the run, and no longer, whoever is killed. Trainings resume where they were
cut.
"""
import contextlib
import fcntl
import json
import os
import shlex
import signal
import subprocess
import time

from . import sweep
from .estimate import hours
from .runs import all_runs, losses_of, outcome_of, run_of

DIVERGED = 3  # exit code of dashlm


class Claim:
    """The right to work on a run; None from take() if someone else has it."""

    def __init__(self, file):
        self.file = file

    @classmethod
    def take(cls, run):
        run.folder.parent.mkdir(parents=True, exist_ok=True)
        file = open(beside(run, ".lock"), "w", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return cls(file)

    def release(self):
        self.file.close()


def beside(run, suffix):
    """A file next to the run's folder: dashlm wants that for itself."""
    return run.folder.with_name(run.folder.name + suffix)


class Training:
    """A process of dashlm that works on a claimed run."""

    def __init__(self, run, claim, command):
        self.run, self.claim = run, claim
        config = beside(run, ".json")
        config.write_text(json.dumps(run.config(), indent=2) + "\n", encoding="utf-8")
        self.log = open(beside(run, ".log"), "a", encoding="utf-8")
        self.process = subprocess.Popen(
            [*command, "train", str(config), "--out", str(run.folder), "--resume-or-start"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
            pass_fds=[claim.file.fileno()], start_new_session=True)

    def ended(self):
        return self.process.poll() is not None

    def stop(self):
        if not self.ended():
            self.process.send_signal(signal.SIGTERM)

    def close(self):
        self.log.close()
        self.claim.release()

    def last_words(self):
        lines = beside(self.run, ".log").read_text(encoding="utf-8", errors="replace").splitlines()
        return lines[-1] if lines else "it said nothing"


class Worker:
    """Works through an experiment, `jobs` trainings at a time; run() gives the exit code."""

    def __init__(self, experiment, out, dashlm, launcher="", jobs=1, say=print, poll=0.5):
        self.experiment, self.out = experiment, out
        self.command = shlex.split(launcher) + [str(dashlm)]
        self.jobs, self.say, self.poll = jobs, say, poll
        self.total = sum(sweep.most_runs(row) for _, row in experiment.pairs())
        self.trainings, self.failed, self.signal = [], {}, 0

    def run(self):
        with self._signals():
            while not self.signal:
                self._collect()
                missing = self._missing()
                if not missing and not self.trainings:
                    break
                self._start([run for run in missing if run.folder not in self.failed])
                if not self.trainings and all(run.folder in self.failed for run in missing):
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
        runs = []
        for size, row in self.experiment.pairs():
            state = sweep.state_of(row, losses_of(self.experiment, self.out, size, row))
            runs += [run_of(self.experiment, self.out, size, row, one) for one in state.missing]
        return runs

    def _start(self, runs):
        for run in runs:
            if len(self.trainings) >= self.jobs:
                return
            if any(training.run.folder == run.folder for training in self.trainings):
                continue
            claim = Claim.take(run)
            if claim is None:
                continue
            if outcome_of(run) is not None:  # someone ended it since we looked
                claim.release()
                continue
            self.say(f"start   {run.name}")
            self.trainings.append(Training(run, claim, self.command))

    def _collect(self):
        for training in [one for one in self.trainings if one.ended()]:
            self.trainings.remove(training)
            training.close()
            self._report(training)

    def _report(self, training):
        run, outcome = training.run, outcome_of(training.run)
        if outcome is None:
            self.failed[run.folder] = training.last_words()
            self.say(f"failed  {run.name}: exit code {training.process.returncode}: "
                     f"{training.last_words()} (all of it in {beside(run, '.log')})")
        elif outcome.diverged:
            self.say(f"diverged {run.name} at step {outcome.step} {self._progress()}")
        else:
            self.say(f"done    {run.name}: loss {outcome.val_loss:.4f} {self._progress()}")

    def _progress(self):
        """Of the whole grid, with the time that is left if the other runs are like those done."""
        seconds = [outcome.seconds for outcome in map(outcome_of, self._all_runs()) if outcome]
        left = self.total - len(seconds)
        eta = left * sum(seconds) / max(len(seconds), 1) / self.jobs
        return f"[{len(seconds)} of {self.total}, {hours(eta)} left]"

    def _all_runs(self):
        for size, row in self.experiment.pairs():
            yield from all_runs(self.experiment, self.out, size, row)

    def _stop_all(self):
        """Trainings save a checkpoint when asked to stop."""
        for training in self.trainings:
            training.stop()
        for training in self.trainings:
            training.process.wait()
            training.close()
