#!/usr/bin/env python3
"""Fills the tables of docs/inverse_roots.md from the tests and from `dashlm bench roots`.

    scripts/inverse_root_table.py [BUILD_DIR] [--only accuracy,exact,precision,factors,trace,speed]

Accuracy, exact and precision are what test_inverse_root measured and compared with its tolerances in this
very run; factors is what experiments/results/factors holds; speed is that of this machine. A table stands
between <!-- NAME --> and <!-- /NAME -->.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "inverse_roots.md"


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def run_tests(build, pattern):
    """Every test that matches, as a dict of its properties; stops if one fails."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [build / "tests" / "test_inverse_root", f"--gtest_filter={pattern}",
                   f"--gtest_output=json:{out.name}", "--gtest_brief=1"]
        if subprocess.run(command, stdout=sys.stderr).returncode != 0:
            sys.exit("tests fail: no table is made of them")
        report = json.load(open(out.name))
    return [test for suite in report["testsuites"] for test in suite["testsuite"]]


def accuracy(build, suffix=""):
    """Errors as tested; with the suffix "_exact" those against the root itself."""
    columns = [("OfEvd", "float32_ridge_1e-10"), ("OfEvd", "float32_ridge_1e-05"),
               ("OfEvd", "float64_ridge_1e-10"), ("OfEvd", "float64_ridge_1e-05"),
               ("OfCoupledNewton", "frobenius"), ("OfCoupledNewton", "multi_power_iteration"),
               ("OfNewtonDb", "frobenius"), ("OfNewtonDb", "multi_power_iteration"),
               ("OfChebyshev", "bound")]
    errors = {}
    for test in run_tests(build, "Cases/RootAccuracy.*"):
        kind, case = test["name"].split("/")
        name, p = re.fullmatch(r"(.*)_p(\d)", case).groups()
        for key, value in test.items():
            if key.endswith("_exact") == bool(suffix):
                errors.setdefault((p, name), {})[(kind, key.removesuffix("_exact"))] = value
    header = ["matrix", "EVD, ridge 1e-10", "1e-5", "EVD float64, 1e-10", "1e-5", "CN, Frobenius",
              "CN, pooled power it.", "NDB, Frobenius", "NDB, pooled power it.", "Chebyshev"]
    text = []
    for p in "42":
        rows = [[re.sub("em(?=[0-9])", "e-", " ".join(name.split("_")).replace("  ", ", "))] + [found.get(column, "") for column in columns]
                for (order, name), found in errors.items()
                if order == p and any(column in found for column in columns)]
        text.append(f"e = 1/{p}:\n\n" + markdown(header, rows))
    return "\n\n".join(text)


def exact(build):
    return accuracy(build, "_exact")


def precision(build):
    precisions = ["fp32", "tf32", "fp16", "bf16"]
    found = {}  # by condition
    for test in run_tests(build, "Conditions/HalfPrecision.IsRecorded/*:"
                                 "Conditions/EvdProducts.AreRecorded/*"):
        found.setdefault(test["name"].split("/")[1], {}).update(test)
    rows = [[condition, title] + [test[f"{method}_{kind}"] for kind in precisions]
            for condition, test in found.items()
            for method, title in (("coupled_newton", "CN"), ("newton_db", "NDB"), ("evd", "EVD"))]
    return markdown(["condition", "method"] + precisions, rows)


def dashlm(build, *arguments):
    command = [build / "dashlm", "bench", "roots", "--json", *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def scientific(value, otherwise):
    return otherwise if value is None else f"{value:.1e}"


def conditions(recordings):
    rows = [[name] + [scientific(r["condition"][key], "singular") for key in ("min", "median", "max")] +
            [str(sum(f["condition"] is None for f in r["factors"]))] +
            [f"{r['rank'][key]:.0f}" for key in ("min", "median", "max")] +
            [str(len(r["factors"])), str(len(r["zero"]) + len(r["not_finite"]))]
            for name, r in recordings]
    return markdown(["factors of", "condition, min", "median", "max", "singular", "rank, min", "median",
                     "max", "factors", "left out"], rows)


def factors(build):
    """The recordings: a table of the matrices, and one of each method in pooled power iteration."""
    paths = sorted((ROOT / "experiments" / "results" / "factors").glob("*.json"))
    recordings = [(path.stem.replace("_", " "), json.loads(path.read_text())) for path in paths]
    rows = {}
    for _, recording in recordings:
        for m in recording["methods"]:
            if m["scaling"] not in (None, "multi_power_iteration"):
                continue
            cell = f"{scientific(m['error_median'][-1], '-')}, {scientific(m['error_max'][-1], '-')}"
            if m["failed"][-1]:
                cell += f", {m['failed'][-1]} failed"
            rows.setdefault((m["method"], m["precision"]), []).append(cell)
    errors = markdown(["method", "precision"] + [name for name, _ in recordings],
                      [list(key) + cells for key, cells in rows.items()])
    return conditions(recordings) + "\n\nMedian and largest error:\n\n" + errors


def trace(build):
    text = []
    for one in dashlm(build, "--trace")["traces"]:
        steps = len(one["ratio"][0])
        rows = [[f"1e-{i}" if i else "1"] + [f"{ratio:.3f}" for ratio in ratios]
                for i, ratios in enumerate(one["ratio"])]
        text.append(f"{one['method']}, {one['scaling']}, s = {one['scale']:.2f}·λ_max:\n\n" +
                    markdown(["λ/λ_max, step"] + [str(k + 1) for k in range(steps)], rows))
    return "\n\n".join(text)


def speed(build):
    found = dashlm(build)
    rows = [[str(r["n"]), str(r["blocks"]), r["method"], f"{r['ms_per_block']:.2f}",
             f"{r['products']:.1f}", f"{r['gflops']:.0f}", f"{r['sgemm_peak_gflops']:.0f}",
             f"{r['ratio_to_peak']:.2f}"] for r in found["roots"]]
    header = ["n", "blocks", "method", "ms a block", "products", "GFLOP/s", "SGEMM peak", "ratio"]
    return f"{found['device']}:\n\n" + markdown(header, rows)


def main():
    tables = {"accuracy": accuracy, "exact": exact, "precision": precision, "factors": factors,
              "trace": trace, "speed": speed}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--only", default=",".join(tables), help="tables to make")
    options = parser.parse_args()
    text = DOCUMENT.read_text()
    for name in options.only.split(","):
        table = tables[name](options.build)
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not pattern.search(text):
            sys.exit(f"{DOCUMENT} has no place for the table {name}")
        text = pattern.sub(lambda match: match[1] + table + "\n" + match[2], text)
    DOCUMENT.write_text(text)


if __name__ == "__main__":
    main()
