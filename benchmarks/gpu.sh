#!/usr/bin/env bash
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Models for a GPU: made where the compiler is, run where the GPU is.
#
#   benchmarks/gpu.sh bundle DIR [OPTION|MODEL ...]
#       Compiles models for CPU and GPU, and writes what it takes to run them to
#       DIR and DIR.tar.gz. For options see benchmarks/gpu_bundle.py --help.
#   DIR/gpu.sh run [RESULTS]
#       Runs all models of the bundle that the script lies in, compares the
#       GPU's results with the CPU's, takes times, and writes
#       RESULTS/results.json (default: ./gpu-results). Needs bash and coreutils.
#       The exit code is 0 if all was right, and 1 if not.
#
# Environment of `run`: RUNS and CPU_RUNS, how many runs are timed (200 and 10);
# STEP_SECONDS, after which a step is given up (300); SANITIZER, a path of
# compute-sanitizer, or "none"; TORCH, a python with PyTorch for the GPU, or
# "none".
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
  sed -n '/^#   bench/,/^# "none"/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

find_sanitizer() {
  [ "${SANITIZER:-}" = none ] && return
  local path
  for path in "${SANITIZER:-}" "$(command -v compute-sanitizer)" \
    "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer"; do
    if [ -n "$path" ] && [ -x "$path" ]; then
      echo "$path"
      return
    fi
  done
}

find_torch() {
  [ "${TORCH:-}" = none ] && return
  local python
  for python in "${TORCH:-}" python3 python; do
    if [ -n "$python" ] && command -v "$python" >/dev/null &&
      "$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
      echo "$python"
      return
    fi
  done
}

# step NAME COMMAND...: what it prints becomes NAME.json, its errors NAME.log,
# and its exit code a line of `steps`.
step() {
  local name=$1 code=0
  shift
  timeout "${STEP_SECONDS:-300}" "$@" >"$name.json" 2>"$name.log" || code=$?
  echo "$name $code" >>steps
  return $code
}

# Runs on CPU and GPU from the same state on, and compares what they leave.
check() {
  local device
  for device in cpu gpu; do
    mkdir -p "$device"
    local state=()
    # What a model updates is a result, too.
    [ -e "$model/updates-state" ] && state=(--save-state "$device/state.safetensors")
    step "check-$device" graph-run "$model/$device.so" "${arguments[@]}" \
      --runs 3 --output-dir "$device" "${state[@]}" || return
  done
  step compare gpu-check compare gpu cpu
}

measure() {
  step cpu graph-run "$model/cpu.so" "${arguments[@]}" --json \
    --warmup 2 --runs "${CPU_RUNS:-10}"
  step gpu graph-run "$model/gpu.so" "${arguments[@]}" --json \
    --warmup 20 --runs "${RUNS:-200}"
  step gpu-own-kernels env TINH_CUDA_LIBRARIES=none \
    graph-run "$model/gpu.so" "${arguments[@]}" --json \
    --warmup 20 --runs "${RUNS:-200}"
  if [ -n "$torch" ]; then
    step torch "$torch" "$here/torch_models.py" "$model" weights.safetensors \
      --runs "${RUNS:-200}"
  fi
}

# Why two ranks cannot have a GPU each; nothing if they can.
why_no_ranks() {
  local gpus
  gpus=$(nvidia-smi --list-gpus 2>/dev/null | wc -l)
  if [ "$gpus" -lt 2 ]; then
    echo "two GPUs are needed, and there are $gpus"
  elif ! command -v mpirun >/dev/null; then
    echo "there is no mpirun"
  fi
}

# Two ranks train by MPI and by NCCL from the same state on, and leave the same.
run_ranks() {
  local why way
  why=$(why_no_ranks)
  if [ -n "$why" ]; then
    echo "${model##*/}: not on two ranks: $why"
    return
  fi
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm=isolated
  for way in mpi nccl; do
    mkdir -p "$way"
    step "ranks-check-$way" mpirun -n 2 graph-run "$model/$way.so" "${arguments[@]}" \
      --runs 3 --output-dir "$way" --save-state "$way/state.safetensors" || return
    step "ranks-$way" mpirun -n 2 graph-run "$model/$way.so" "${arguments[@]}" --json \
      --warmup 20 --runs "${RUNS:-200}"
  done
  step ranks-compare gpu-check compare nccl mpi
}

# In the model's folder of results.
run_model() {
  local model=$1 arguments
  mapfile -t arguments <"$model/arguments"
  step weights gpu-check weights "$model/weights.header" weights.safetensors &&
    check && measure &&
    if [ -n "$sanitizer" ]; then
      step sanitizer "$sanitizer" --error-exitcode 9 --leak-check full \
        graph-run "$model/gpu.so" "${arguments[@]}"
    fi
  [ -e "$model/nccl.so" ] && run_ranks
  rm -rf weights.safetensors cpu gpu mpi nccl # Large.
}

run() {
  [ -d "$here/models" ] || {
    echo "gpu.sh: $here is no bundle; make one with 'gpu.sh bundle DIR'" >&2
    exit 2
  }
  mkdir -p "$1" || exit 2
  local results sanitizer torch model
  results=$(cd "$1" && pwd)
  sanitizer=$(find_sanitizer)
  torch=$(find_torch)
  export PATH=$here/bin:$PATH
  export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  for model in "$here"/models/*; do
    local folder=$results/${model##*/}
    rm -rf "$folder" && mkdir "$folder" || exit 2
    (cd "$folder" && run_model "$model")
    if grep -v '^torch ' "$folder/steps" | grep -qv ' 0$'; then
      echo "${model##*/}: failed"
    else
      echo "${model##*/}: done"
    fi
  done
  gpu-check report "$here" "$results" "$results/results.json"
}

case ${1:-} in
bundle)
  shift
  [ $# -gt 0 ] || usage
  python=${PYTHON:-$here/../build/venv/bin/python}
  [ -x "$python" ] || python=python3
  exec "$python" "$here/gpu_bundle.py" "$@"
  ;;
run) run "${2:-gpu-results}" ;;
*) usage ;;
esac
