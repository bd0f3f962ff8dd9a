"""What the CPU sustains, by build/bin/machine, for compare.py."""

import os
import pathlib
import re
import subprocess

FLAGS = [
    "avx2",
    "fma",
    "f16c",
    "avx_vnni",
    "avx512f",
    "avx512_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "amx_tile",
    "amx_int8",
    "amx_bf16",
]
# The last of the lines that are needed: what comes after it is not waited for.
LAST = "memory.read"


def cpu_flags():
    info = pathlib.Path("/proc/cpuinfo").read_text()
    found = re.search(r"^flags\s*:(.*)$", info, re.MULTILINE)
    words = found.group(1).split() if found else []
    return [flag for flag in FLAGS if flag in words]


def start(machine, cpu):
    return subprocess.Popen(
        [machine],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
    )


def read_figures(process):
    """{name: best} up to LAST."""
    figures = {}
    for line in process.stdout:
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 6 and re.fullmatch(r"[\d.]+", cells[3]):
            figures[cells[1]] = float(cells[3])
        if LAST in figures:
            break
    return figures


def limits_of(figures):
    clock = figures["clock"]
    bits = 8 * int(figures["vector"])
    lanes = bits // 32
    rate = figures[f"fma.{bits}.throughput"]
    return {
        "clock_ghz": clock,
        "gflops": 2 * lanes * rate * clock,
        "read_gb_s": figures[LAST] * clock,
    }


def measure_limits(machine, cpus):
    """The clock, the rate of f32 multiply-adds (two operations each) and the
    bandwidth of reads from memory of so many CPUs, all at work at once. None
    where it cannot be measured."""
    try:
        processes = [start(machine, cpu) for cpu in cpus]
    except OSError:
        return None
    try:
        limits = [limits_of(read_figures(process)) for process in processes]
    except KeyError:
        return None
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stdout.close()
    return {
        "clock_ghz": min(each["clock_ghz"] for each in limits),
        "gflops": sum(each["gflops"] for each in limits),
        "read_gb_s": sum(each["read_gb_s"] for each in limits),
    }
