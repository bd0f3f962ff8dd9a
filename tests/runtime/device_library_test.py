# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the runtime finds its library for GPUs, and what it says without.

usage: device_library_test.py GRAPH_RUN RUNTIME CUDA COMPLETE_TOY GPU_ARTIFACT
                              ARTIFACT_FOR_BOTH

RUNTIME and CUDA are the two libraries by their sonames.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

GRAPH_RUN, RUNTIME, CUDA, COMPLETE, GPU, BOTH = sys.argv[1:7]


def run(artifact, *folders, expected=0):
    environment = dict(
        os.environ,
        LD_LIBRARY_PATH=":".join(map(str, folders)),
        TINH_CUDA_DRIVER="/nowhere/libcuda.so.1",
    )
    done = subprocess.run(
        [GRAPH_RUN, artifact], capture_output=True, text=True, env=environment
    )
    assert done.returncode == expected, done
    return done.stdout + done.stderr


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        alone, other = folder / "alone", folder / "other"
        for path in (alone, other):
            path.mkdir()
        name = pathlib.Path(CUDA).name
        runtime = shutil.copy(RUNTIME, alone)
        gpu, both = folder / "gpu.so", folder / "both.so"
        subprocess.run([COMPLETE, GPU, gpu], check=True)
        subprocess.run([COMPLETE, BOTH, both], check=True)

        missing = (
            f"the runtime's library for GPUs, {name}, cannot be loaded: it is"
            f" neither beside '{runtime}' nor where the system looks: "
        )
        text = run(gpu, alone, expected=1)
        assert f"the model 'gpu toy' needs an NVIDIA GPU: {missing}" in text, text
        text = run(both, alone)
        assert f"not on a GPU: {missing}" in text, text

        # Where the system looks, and then beside.
        shutil.copy(CUDA, other)
        assert "there is no CUDA driver: /nowhere" in run(both, alone, other)
        shutil.copy(GPU, alone / name)
        text = run(both, alone, other)
        assert f"not on a GPU: '{alone / name}' is not of this runtime's" in text, text
        shutil.copy(CUDA, alone / name)
        assert "there is no CUDA driver: /nowhere" in run(both, alone)


if __name__ == "__main__":
    main()
