#!/usr/bin/env python3
"""Stands in for dashlm in the tests of experiments: plans, "trains" and "evaluates" at once, as its
config says.

A config's "fake" may have "slow" (seconds that training takes), "exit" (an exit code without a
result), "diverge", "better" (taken from the loss) and "eval_exit". The loss is least at
train.lr = 0.01.
"""
import json
import math
import os
import pathlib
import re
import sys
import time


def load(path):
    config = json.loads(re.sub(r"//[^\n\"]*$", "", pathlib.Path(path).read_text(), flags=re.M))
    base = config.pop("extends", None)
    below = load(pathlib.Path(path).parent / base) if base else {}

    def merge(under, over):
        for key, value in over.items():
            both = isinstance(value, dict) and isinstance(under.get(key), dict)
            under[key] = merge(under[key], value) if both else value
        return under
    return merge(below, config)


def plan(config):
    if "typo" in config.get("optimizer", {}):
        print("12:00:00 error unknown key optimizer.typo", file=sys.stderr)
        return 1
    found = {"tokens": 1000000, "steps": 10, "bytes": {"total": 2 ** 30}}
    if "--gpu" in sys.argv:
        found["estimate"] = {"lines": [{"ranks": 1, "step_ms": 1000}]}
    print(json.dumps(found))
    return 0


def train(config, out):
    out.mkdir(parents=True, exist_ok=True)
    fake = config.get("fake", {})
    with open(os.environ["FAKE_STARTS"], "a", encoding="utf-8") as starts:
        starts.write(f"{out}\n")
    time.sleep(fake.get("slow", 0))
    if "exit" in fake:
        print("the machine is on fire")
        return fake["exit"]
    (out / "config.json").write_text(json.dumps(config))
    rate, seed = config["train"]["lr"], config["train"]["seed"]
    diverges = fake.get("diverge") or rate > 1
    loss = (3 + math.log10(rate / 0.01) ** 2 - fake.get("better", 0)
            + 0.001 * seed)
    lines = []
    for step in range(1, (7 if diverges else 10) + 1):
        lines.append({"kind": "train", "step": step, "tokens": 100000 * step,
                      "loss": loss + 1 - step / 10, "step_ms": 100.0, "optimizer_ms": 20.0})
        if step % 5 == 0:
            lines.append({"kind": "eval", "step": step, "val_loss": loss + 1 - step / 10})
    (out / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = {"ended": "finished", "step": 10, "tokens": 1000000, "wall_s": 2.0, "val_loss": loss,
              "machine": "a fake", "parameters": 1000, "bytes_per_rank": 2 ** 30}
    if diverges:
        result.update({"ended": "diverged", "step": 7, "reason": "it blew up"})
        del result["val_loss"]
    (out / "result.json").write_text(json.dumps(result))
    return 3 if diverges else 0


def evaluate(folder, options):
    if "--typo" in options:
        print("no option '--typo'", file=sys.stderr)
        return 1
    if not folder.is_dir():
        print(f"'{folder}' is neither a checkpoint nor a run directory", file=sys.stderr)
        return 1
    config = json.loads((folder / "config.json").read_text())
    if "eval_exit" in config.get("fake", {}):
        print("the weights are gone", file=sys.stderr)
        return config["fake"]["eval_exit"]
    print(json.dumps({"options": options}))
    return 0


def main():
    if sys.argv[1:] == ["--version"]:
        print("dashlm of paper\ncompiler none")
        return 0
    command, path = sys.argv[1:3]
    if command == "eval":
        return evaluate(pathlib.Path(path), sys.argv[3:])
    config = load(path)
    if command == "plan":
        return plan(config)
    return train(config, pathlib.Path(sys.argv[sys.argv.index("--out") + 1]))


if __name__ == "__main__":
    sys.exit(main())
