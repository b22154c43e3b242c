#!/usr/bin/env python3
"""Checks what the compiler does not: that src/ keeps its layers.

- a folder includes only itself and folders before it in LAYERS, and so do the rooms of a folder in
  ROOMS;
- headers of BLAS, CUDA, MPI and the like are included in their backend's folder only;
- no #if or #ifdef outside the folders that have backends;
- no source file is longer than MAX_LINES.

Usage: check_layers.py [ROOT]. Prints FILE:LINE: what is wrong; exit code 1 if anything is.
"""

import pathlib
import re
import sys

LAYERS = ["base", "config", "device", "tensor", "ops", "io", "dist", "optim", "data", "model",
          "train", "cli"]
# The rooms of src/ops: each includes only itself and those before it.
ROOMS = {"ops": ["core", "model", "stacks", "blocks", "roots"]}
MAX_LINES = 450
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}

# Headers of a backend's libraries, and the parts of a path of which one makes a file that backend's.
BACKENDS = [
    (r"(cuda|cublas|cusolver|cudnn|cufft|curand|cutlass|cute/|thrust/|cub/|nvtx|nvml|mma\.h)",
     {"cuda"}),
    (r"nccl", {"nccl", "cuda"}),
    (r"(mpi\.h|mpi-ext\.h|openmpi/)", {"mpi"}),
    (r"(cblas|lapacke?\b|lapacke_|openblas|f77blas|omp\.h|immintrin\.h)", {"cpu"}),
]
# Folders in which a compile-time condition may depend on what the machine has.
CONDITIONAL = {"ops", "dist", "device"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b")


def backend_words(path):
    """Folders on the way to the file, and the words of its name: dist/mpi/peers.cpp."""
    words = set(path.parts[:-1])
    words.update(re.split(r"[_.]", path.name))
    return words


def check_include(path, quote, name):
    """What is wrong with one include line of src/PATH, or None."""
    for pattern, words in BACKENDS:
        if re.match(pattern, name) and not words & backend_words(path):
            return f"{name} belongs to a backend: include it below src/*/{sorted(words)[0]}/ only"
    if quote != '"':
        return None
    layer = path.parts[0]
    target = name.split("/")[0]
    if "/" not in name:
        return f'"{name}" must be written with its folder, as "{layer}/..."'
    if target not in LAYERS:
        return f'"{name}": "{target}" is no folder of src/'
    if layer in LAYERS and LAYERS.index(target) > LAYERS.index(layer):
        return f'"{name}": {layer} comes before {target}, so it must not use it'
    if layer == target and layer in ROOMS:
        rooms, own, other = ROOMS[layer], path.parts[1], name.split("/")[1]
        if own not in rooms:
            return f'{layer}/{own} is no room; add it to ROOMS in tests/check_layers.py'
        if rooms.index(other) > rooms.index(own):
            return f'"{name}": {layer}/{own} comes before {layer}/{other}, so it must not use it'
    if layer != target and "cuda" in name.split("/") and "cuda" not in path.parts:
        return f'"{name}" is inside a backend: include the header above it'
    return None


def without_block_comments(text):
    """The text with /* ... */ blanked, line numbers unchanged."""
    return re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def check_file(source, path):
    """Yields (line, message) for src/PATH."""
    text = source.read_text(encoding="utf-8", errors="replace")
    lines = without_block_comments(text).splitlines()
    if len(path.parts) > 1 and path.parts[0] not in LAYERS:
        yield 1, f'"{path.parts[0]}" is no layer; add it to LAYERS in tests/check_layers.py'
    if len(lines) > MAX_LINES:
        yield len(lines), f"{len(lines)} lines, more than {MAX_LINES}: split the file"
    for number, line in enumerate(lines, 1):
        include = INCLUDE.match(line)
        if include:
            message = check_include(path, *include.groups())
            if message:
                yield number, message
        if CONDITION.match(line) and path.parts[0] not in CONDITIONAL:
            yield number, "conditional compilation belongs to src/device, src/ops and src/dist only"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    sources = sorted(p for p in (root / "src").rglob("*") if p.suffix in SUFFIXES)
    if not sources:
        print(f"{root}/src: no sources found")
        return 1
    faults = 0
    for source in sources:
        for number, message in check_file(source, source.relative_to(root / "src")):
            print(f"{source.relative_to(root)}:{number}: {message}")
            faults += 1
    print(f"{len(sources)} files, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
