# The IR tests: each .mlir or .test file under tests/ says in its RUN lines how
# it is run. `%t` names a scratch file.
import os

import lit.formats

config.name = "tinh"
config.suffixes = [".mlir", ".test"]
# What fuzz targets are given is no test of its own.
config.excludes = ["Inputs", "corpus"]
config.test_format = lit.formats.ShTest(execute_external=False)
config.test_source_root = os.path.join(config.tinh_source_dir, "tests")
config.test_exec_root = os.path.join(config.tinh_binary_dir, "tests", "lit")

config.environment["PATH"] = os.pathsep.join(
    [config.tinh_tools_dir, config.llvm_tools_dir, config.environment["PATH"]]
)
# What ctest sets for all other tests.
config.environment["XDG_CACHE_HOME"] = os.path.join(
    config.tinh_binary_dir, "cache"
)

# What makes PTX and code for chips is tested where there is a toolkit.
toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
if os.path.exists(os.path.join(toolkit, "bin", "ptxas")):
    config.available_features.add("cuda-toolkit")
    config.environment["CUDA_HOME"] = toolkit
