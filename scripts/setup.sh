#!/usr/bin/env bash
# Installs what building and testing needs, and only what is missing of it. Where everything is
# there it does nothing, and needs neither root nor a network.
#
#   scripts/setup.sh [--clang] [--cuda] [--checks] [--no-install] [--has-cuda]
#
#   --clang       also what the "clang" preset needs
#   --cuda        also what the "cuda" and "cuda-host" presets need beside the CUDA toolkit; where
#                 that is installed, also the headers of cuDNN's frontend, from PyPI to .deps/
#   --checks      also clang-format and clang-tidy, with which tests check the sources
#   --has-cuda    only say whether a CUDA toolkit that will do is installed: exit code 0 if it is
#   --no-install  only report; exit code 1 if something is missing
#
# Debian and Ubuntu: through apt-get, as root or with sudo. Elsewhere it says which packages are
# missing.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
clang=no
cuda=no
checks=no
install=yes
for argument in "$@"; do
  case "$argument" in
    --clang) clang=yes ;;
    --cuda) cuda=yes ;;
    --checks) checks=yes ;;
    --has-cuda)
      release=$(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9]*\).*/\1/p')
      [ "${release:-0}" -ge 13 ]
      exit
      ;;
    --no-install) install=no ;;
    -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "setup: unknown option '$argument'; see --help" >&2; exit 1 ;;
  esac
done

readonly min_gcc=12 min_clang=14

# "a|b": either will do. The first is what gets installed.
required=(
  g++ cmake ninja-build 'pkg-config|pkgconf' libopenblas-openmp-dev liblapacke-dev
  libsentencepiece-dev nlohmann-json3-dev libspdlog-dev libfmt-dev libgtest-dev libgmock-dev
  libbenchmark-dev libcli11-dev zlib1g-dev python3
)
optional=(
  libopenmpi-dev openmpi-bin  # several ranks
  python3-pip                 # for what no distribution has
  iproute2                    # a test of ranks on two hosts
)
[ "$checks" = yes ] && optional+=('clang-format-14|clang-format' 'clang-tidy-14|clang-tidy')
[ "$clang" = yes ] && required+=(clang libomp-dev)
[ "$cuda" = yes ] && required+=(libboost-context-dev)

# --- Debian and Ubuntu ----------------------------------------------------------------------------

# The packages among the arguments that are not installed, one a line.
missing_packages() {
  local installed wanted name found
  local -a names
  IFS='| ' read -ra names <<<"$*"
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${names[@]}" 2>/dev/null || true)
  for wanted in "$@"; do
    found=no
    for name in ${wanted//|/ }; do
      grep -qxF "installed $name" <<<"$installed" && found=yes
    done
    [ "$found" = yes ] || echo "${wanted%%|*}"
  done
}

gcc_is_new_enough() {
  command -v "$1" >/dev/null && [ "$("$1" -dumpversion | cut -d. -f1)" -ge "$min_gcc" ]
}

update_lists() {
  "${as_root[@]}" apt-get update -qq >/dev/null 2>&1 && return
  sleep 3
  "${as_root[@]}" apt-get update -qq >/dev/null ||
    echo "setup: apt-get update failed; trying with the lists there are" >&2
}

apt_install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

setup_debian() {
  if gcc_is_new_enough g++ || gcc_is_new_enough g++-$min_gcc; then
    unset 'required[0]'  # whatever its package is called
  elif grep -qs '^VERSION_ID="22.04"' /etc/os-release; then
    required[0]=g++-$min_gcc  # beside the standard one, which is older
  elif command -v g++ >/dev/null; then
    echo "setup: g++ is version $(g++ -dumpversion), but must be $min_gcc or newer" >&2
    return 1
  fi

  local needed wanted all
  mapfile -t needed < <(missing_packages "${required[@]}")
  mapfile -t wanted < <(missing_packages "${optional[@]}")
  all=("${needed[@]}" "${wanted[@]}")
  if [ ${#all[@]} -eq 0 ]; then
    echo "setup: everything is installed"
    return 0
  fi
  if [ "$install" = no ]; then
    [ ${#wanted[@]} -eq 0 ] || echo "setup: missing, but not needed by everybody: ${wanted[*]}"
    [ ${#needed[@]} -eq 0 ] || { echo "setup: missing: ${needed[*]}"; return 1; }
    return 0
  fi

  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "setup: neither root nor sudo; as root run: apt-get install ${all[*]}" >&2
      return $((${#needed[@]} > 0 ? 1 : 0))
    fi
    as_root=(sudo)
  fi
  echo "setup: installing ${all[*]}"
  update_lists
  if [ ${#needed[@]} -gt 0 ] && ! apt_install "${needed[@]}"; then
    echo "setup: cannot install ${needed[*]}; see the messages of apt-get above" >&2
    return 1
  fi
  local package
  for package in "${wanted[@]}"; do  # one by one, as not every distribution has all of them
    apt_install "$package" ||
      echo "setup: cannot install $package; only runs of several ranks, their tests, checks of the" \
        "sources, and charts need such packages" >&2
  done
  echo "setup: done"
}

# --- other systems --------------------------------------------------------------------------------

missing=()

need_command() {
  command -v "$1" >/dev/null || missing+=("the command $1")
}

need_compiler() {  # NAME LEAST_VERSION
  if ! command -v "$1" >/dev/null; then
    missing+=("$1, version $2 or newer")
  elif [ "$("$1" -dumpversion | cut -d. -f1)" -lt "$2" ]; then
    missing+=("$1, version $2 or newer (this is $("$1" -dumpversion))")
  fi
}

need_header() {  # HEADER [HEADER THAT WILL DO AS WELL]
  local header
  for header in "$@"; do
    echo "#include <$header>" | "$compiler" -E -x c++ - >/dev/null 2>&1 && return
  done
  missing+=("the header <$1>")
}

check_other_system() {
  local header
  need_compiler g++ $min_gcc
  [ "$clang" = yes ] && need_compiler clang++ $min_clang
  for command in cmake ninja pkg-config python3; do need_command "$command"; done
  compiler=$(command -v g++ || command -v clang++ || true)
  if [ -n "$compiler" ]; then
    for header in nlohmann/json.hpp spdlog/spdlog.h fmt/format.h gtest/gtest.h gmock/gmock.h \
      benchmark/benchmark.h CLI/CLI.hpp zlib.h omp.h; do
      need_header "$header"
    done
    need_header cblas.h openblas/cblas.h
    need_header lapacke.h openblas/lapacke.h
    echo 'int main() {}' | "$compiler" -x c++ - -lopenblas -o /dev/null 2>/dev/null ||
      missing+=("OpenBLAS, built with OpenMP")
  fi
  if command -v pkg-config >/dev/null && ! pkg-config --exists sentencepiece; then
    missing+=("sentencepiece (a sentencepiece.pc that pkg-config finds)")
  fi
  if [ ${#missing[@]} -eq 0 ]; then
    echo "setup: everything is installed"
    return 0
  fi
  echo "setup: this system is neither Debian nor Ubuntu; please install:" >&2
  printf '  %s\n' "${missing[@]}" >&2
  return 1
}

# --- cuDNN's frontend -----------------------------------------------------------------------------

# Headers only, which no distribution has; without them attention in bf16 is slow on GPUs.
readonly frontend_version=1.32.0

has_frontend() {
  local folder
  for folder in "$root/.deps/cudnn_frontend" "${CUDNN_FRONTEND_DIR:-}" "${CUDA_HOME:-}" \
    /usr/local/cuda /usr/local /usr; do
    [ -f "$folder/include/cudnn_frontend.h" ] && return
  done
  return 1
}

# The wheel of any platform has the same headers. Fails without changing anything.
fetch_frontend() {  # FOLDER FOR TEMPORARY FILES
  python3 -m pip download --quiet --disable-pip-version-check --retries 1 --timeout 20 --no-deps \
    --only-binary=:all: --implementation cp --python-version 3.12 --abi cp312 \
    --platform manylinux_2_28_x86_64 --dest "$1" "nvidia-cudnn-frontend==$frontend_version" &&
    python3 -m zipfile -e "$1"/nvidia_cudnn_frontend-*.whl "$1/wheel" &&
    [ -f "$1/wheel/include/cudnn_frontend.h" ] &&
    mkdir -p "$root/.deps/cudnn_frontend" &&
    rm -rf "$root/.deps/cudnn_frontend/include" &&
    mv "$1/wheel/include" "$root/.deps/cudnn_frontend/include"
}

setup_frontend() {
  if [ "$cuda" = no ] || ! command -v nvcc >/dev/null || has_frontend; then return 0; fi
  if [ "$install" = no ]; then
    echo "setup: missing, but not needed by everybody: cuDNN's frontend"
    return 0
  fi
  echo "setup: fetching cuDNN's frontend $frontend_version"
  local folder
  folder=$(mktemp -d)
  fetch_frontend "$folder" ||
    echo "setup: cannot fetch cuDNN's frontend; only attention in bf16 on GPUs needs it" >&2
  rm -rf "$folder"
}
# --- what draws the charts of reports -------------------------------------------------------------

# One wheel without dependencies, for every Python; reports without it have tables alone.
readonly vl_convert_version=1.9.0.post1

setup_charts() {
  if PYTHONPATH="$root/.deps/python" python3 -c 'import vl_convert' 2>/dev/null; then return 0; fi
  if [ "$install" = no ]; then
    echo "setup: missing, but not needed by everybody: vl-convert-python"
    return 0
  fi
  echo "setup: fetching vl-convert $vl_convert_version"
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --retries 1 \
    --timeout 20 --no-deps --only-binary=:all: --upgrade --target "$root/.deps/python" \
    "vl-convert-python==$vl_convert_version" ||
    echo "setup: cannot fetch vl-convert; only the pictures of reports need it" >&2
}

if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
  setup_debian
else
  check_other_system
fi
setup_frontend
setup_charts
