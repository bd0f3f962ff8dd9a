// Messages and exit codes for wrong input.

// RUN: not graph-compile %t.missing.onnx -o %t.so 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: missing.onnx: error: cannot read the file: No such file or directory

// RUN: not graph-compile %s -o %t.so --cpu=pdp11 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: error: unknown CPU 'pdp11'; expected native, x86-64-v3, x86-64-v4

// RUN: not graph-compile %s -o %t.so --cpu=x86-64 2>&1 | FileCheck %s --check-prefix=OLD
// OLD: error: CPU 'x86-64' has no AVX2 and FMA

// RUN: not graph-compile %s 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: error: -o OUT.so is missing

// RUN: not graph-compile %s -o %t.nowhere/out.so 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: error: cannot write '{{.*}}nowhere/out.so': No such file or directory

// RUN: not graph-compile %s -o %t.so --emit=soup 2>&1 | FileCheck %s --check-prefix=PHASE
// PHASE: error: --emit and --from take graph, normalised, optimised, fused or kernels

// RUN: echo '{"tinh": 1,' > %t.json
// RUN: not graph-compile %t.json -o %t.so 2>&1 | FileCheck %s --check-prefix=JSON
// JSON: .json:2:1: error: malformed JSON

func.func @main(%x: tensor<2xf32> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "y"}) {
  %0 = graph.relu %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
