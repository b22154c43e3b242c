"""One run at work: claimed, trained, evaluated and recorded."""
import fcntl
import json
import signal
import subprocess

from . import record


class Claim:
    """The right to work on a run; None from take() if someone else has it."""

    def __init__(self, file):
        self.file = file

    @classmethod
    def take(cls, folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        file = open(beside(folder, ".lock"), "w", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return cls(file)

    def release(self):
        self.file.close()


def beside(folder, suffix):
    """A file next to a run's folder: dashlm wants that for itself."""
    return folder.with_name(folder.name + suffix)


class Training:
    """The processes of a claimed run, one after the other: dashlm train, then dashlm eval for each
    "evaluate" of the experiment that has no answer yet. They inherit the claim, so that it lasts as
    long as they do."""

    def __init__(self, run, folder, claim, launcher, dashlm, answers):
        self.run, self.folder, self.claim = run, folder, claim
        self.launcher, self.dashlm = launcher, str(dashlm)
        self.log = open(beside(folder, ".log"), "a+", encoding="utf-8")
        self.waiting = [one for one in run.experiment.evaluate if one not in answers]
        self.evaluating = None
        self.answers = dict(answers)
        self.exit_code = 0
        self.process = None if self._trained() else self._train()

    def _trained(self):
        result = record.load(self.folder / "result.json")
        return result is not None and record.at_end(result)

    def _train(self):
        config = beside(self.folder, ".json")
        config.write_text(json.dumps(self.run.config(), indent=2) + "\n", encoding="utf-8")
        return self._start([*self.launcher, self.dashlm, "train", str(config), "--out",
                            str(self.folder), "--resume-or-start"], self.log)

    def _start(self, command, output):
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=self.log,
            pass_fds=[self.claim.file.fileno()], start_new_session=True)

    def ended(self):
        """Starts the next process once one is done; true after the last one."""
        if self.process is not None:
            if self.process.poll() is None:
                return False
            self.exit_code = self.process.returncode
            self._take_answer()
        found = record.load(self.folder / "result.json")
        if found is None or found["ended"] != "finished" or not self.waiting or self._failed():
            return True
        self.evaluating = self.waiting.pop(0)
        with open(beside(self.folder, ".eval"), "w", encoding="utf-8") as answer:
            self.process = self._start([self.dashlm, "eval", str(self.folder), "--json",
                                        *self.evaluating.split()], answer)
        return False

    def _take_answer(self):
        if self.evaluating is not None and self.exit_code == 0:
            self.answers[self.evaluating] = record.read_json(beside(self.folder, ".eval"))
        self.process = None

    def _failed(self):
        return self.evaluating is not None and self.exit_code != 0

    def record(self, grid, program):
        """Of the run, saved; None if it is not at its end or could not be evaluated."""
        if not self._trained() or self._failed():
            return None
        found = {**record.of_folder(self.folder, self.run.name), "asked": grid.asked(self.run),
                 "program": program, "evaluated": self.answers}
        grid.save(self.run, found)
        return found

    def stop(self):
        """Asks for a checkpoint, as dashlm takes it: mpirun and srun hand SIGUSR1 on, and mpirun
        gives ranks no deadline after it, as it does after SIGTERM."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGUSR1)

    def close(self):
        if self.process is not None:
            self.process.wait()
        beside(self.folder, ".eval").unlink(missing_ok=True)
        self.log.close()
        self.claim.release()

    def last_words(self):
        self.log.seek(0)
        lines = self.log.read().splitlines()
        return lines[-1] if lines else "it said nothing"
