// What graph-compare prints, and its exit codes.

// RUN: graph-compare %s --runs 3 | FileCheck %s --check-prefix=TABLE
// TABLE: graph-compare, 1 thread, {{.*}}, 3 runs each, in turns
// TABLE: eager compiled
// TABLE: median {{.*}} ms {{.*}} ms
// TABLE: kernel calls 3 1
// TABLE: intermediate bytes 48 0
// TABLE: largest difference between the two: {{[0-9.E+-]+}} (
// TABLE-NOT: reference

// RUN: graph-compare %s --runs 3 --verify | FileCheck %s --check-prefix=VERIFY
// VERIFY: largest error against the reference: {{[0-9.E+-]+}} (

// RUN: graph-compare %s --threads 2 --runs 3 --verify --json | FileCheck %s --check-prefixes=JSON,ERROR
// RUN: graph-compare %s --threads 2 --runs 3 --json | FileCheck %s --check-prefixes=JSON,NULL
// JSON:      {
// JSON-NEXT:   "model": "graph-compare",
// JSON-NEXT:   "threads": 2,
// JSON-NEXT:   "cpu": "{{.+}}",
// JSON-NEXT:   "runs": 3,
// JSON-NEXT:   "eager": {
// JSON-NEXT:     "compile_ms": {{[0-9.]+}},
// JSON-NEXT:     "first_ms": {{[0-9.e-]+}},
// JSON-NEXT:     "median_ms": {{[0-9.e-]+}},
// JSON-NEXT:     "p99_ms": {{[0-9.e-]+}},
// JSON-NEXT:     "kernels": 3,
// JSON-NEXT:     "bytes": 48
// JSON-NEXT:   },
// JSON-NEXT:   "compiled": {
// JSON-NEXT:     "compile_ms": {{[0-9.]+}},
// JSON-NEXT:     "first_ms": {{[0-9.e-]+}},
// JSON-NEXT:     "median_ms": {{[0-9.e-]+}},
// JSON-NEXT:     "p99_ms": {{[0-9.e-]+}},
// JSON-NEXT:     "kernels": 1,
// JSON-NEXT:     "arena_bytes": 0,
// JSON-NEXT:     "lower_bound_bytes": 0,
// JSON-NEXT:     "unplanned_bytes": 0
// JSON-NEXT:   },
// JSON-NEXT:   "speedup": {{[0-9.e+-]+}},
// JSON-NEXT:   "break_even_calls": {{[0-9.e+]+|null}},
// JSON-NEXT:   "max_abs_difference": {{[0-9.]+(e-[0-9]+)?}},
// JSON-NEXT:   "max_rel_difference": {{[0-9.]+(e-[0-9]+)?}},
// ERROR-NEXT:  "max_abs_error": {{[0-9.]+(e-[0-9]+)?}},
// ERROR-NEXT:  "max_rel_error": {{[0-9.]+(e-[0-9]+)?$}}
// NULL-NEXT:   "max_abs_error": null,
// NULL-NEXT:   "max_rel_error": null
// JSON-NEXT: }

// RUN: echo '{"tinh": 1, "inputs": [{"name": "x", "dtype": "f32", "shape": ["n", 3]}], "nodes": [{"op": "relu", "inputs": ["x"], "outputs": ["y"]}], "outputs": ["y"]}' > %t.open.json
// RUN: not graph-compare %t.open.json 2>&1 | FileCheck %s --check-prefix=OPEN
// OPEN: as in --shape x=1x3
// RUN: graph-compare %t.open.json --shape x=2x3 --runs 1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: compiled is {{.*}} times as fast

// RUN: sh -c 'graph-compare %t.none.onnx; test $? = 1' 2>&1 | FileCheck %s --check-prefix=MODEL
// MODEL: none.onnx: error: cannot read the file: No such file or directory

// RUN: sh -c 'graph-compare %s --cpu=pdp11; test $? = 1' 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: error: unknown CPU 'pdp11'

// RUN: sh -c 'graph-compare %s --fast; test $? = 2' 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: --fast

// RUN: sh -c 'graph-compare %s --runs=0; test $? = 2' 2>&1 | FileCheck %s --check-prefix=RUNS
// RUNS: --runs

func.func @main(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xf32> {graph.name = "y"}) {
  %0 = graph.exp %x : tensor<4xf32>
  %1 = graph.tanh %0 : tensor<4xf32>
  %2 = graph.sigmoid %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
