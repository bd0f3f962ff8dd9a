// Messages and exit codes for wrong input.

// RUN: not graph-compile %t.missing.onnx -o %t.so 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: missing.onnx: error: cannot read the file: No such file or directory

// RUN: not graph-compile %s -o %t.so --target=abacus 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: --target: expected cpu, cuda or cpu,cuda, not abacus

// RUN: not graph-compile %s -o %t.so --cpu=pdp11 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: error: unknown CPU 'pdp11'; expected native, x86-64-v3, x86-64-v4

// RUN: not graph-compile %s -o %t.so --cpu=x86-64 2>&1 | FileCheck %s --check-prefix=OLD
// OLD: error: CPU 'x86-64' has no AVX2 and FMA

// RUN: not graph-compile %s 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: error: -o OUT.so is missing

// RUN: not graph-compile %s -o %t.nowhere/out.so 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: error: cannot write '{{.*}}nowhere/out.so': No such file or directory

// RUN: not graph-compile %s -o %t.so --emit=soup 2>&1 | FileCheck %s --check-prefix=PHASE
// PHASE: error: --emit takes onnx, json, graph, normalised, differentiated, optimised, fused, kernels, plan, llvm, ptx, obj or so, not 'soup'

// RUN: not graph-compile %s -o %t.so --from=so 2>&1 | FileCheck %s --check-prefix=FROM
// FROM: error: --from takes graph, normalised, differentiated, optimised, fused, kernels, plan or llvm, not 'so'

// RUN: not graph-compile %s -o %t.mlir 2>&1 | FileCheck %s --check-prefix=WHICH
// WHICH: error: -o {{.*}}.mlir is IR, of which there are phases: say with --emit which one is written, graph, normalised, differentiated, optimised, fused, kernels, plan or llvm

// RUN: not graph-compile %s --from=plan --emit=fused 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: phase 'fused' comes before phase 'plan'

// RUN: not graph-compile %s --emit=obj 2>&1 | FileCheck %s --check-prefix=OBJECT
// OBJECT: error: -o OUT.o is missing

// RUN: not graph-compile %s --emit=plan --report 2>&1 | FileCheck %s --check-prefix=REPORT
// REPORT: error: --report is about --emit=obj and --emit=so

// RUN: not graph-compile %s --emit=plan -o %t.nowhere/out.mlir 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: error: cannot write '{{.*}}nowhere/out.mlir': No such file or directory

// RUN: not graph-compile %s --from=fused --emit=plan 2>&1 | FileCheck %s --check-prefix=FUSED
// FUSED: errors.mlir:[[# @LINE + 18]]:8: error: 'graph.relu' does not belong in @main in phase 'fused'
// FUSED-NEXT: errors.mlir: note: the IR was read as phase 'fused'; it looks like phase 'graph', for which graph-compile takes --from=graph

// RUN: graph-compile %s --emit=kernels -o %t.kernels.mlir
// RUN: not graph-compile %t.kernels.mlir -o %t.so 2>&1 | FileCheck %s --check-prefix=KERNELS
// KERNELS: error: 'graph.dispatch' does not belong in @main in phase 'graph'
// KERNELS-NEXT: kernels.mlir: note: the IR was read as phase 'graph'; it looks like phase 'kernels', for which graph-compile takes --from=kernels

// Strategies are chosen for the CPU, which cannot change after that.
// RUN: graph-compile %s --emit=kernels --cpu=x86-64-v3 -o %t.v3.mlir
// RUN: not graph-compile %t.v3.mlir --from=kernels -o %t.so --cpu=x86-64-v4 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: error: the model in phase 'kernels' is for CPU 'x86-64-v3', not 'x86-64-v4'; choose the CPU in an earlier phase

// RUN: echo '{"tinh": 1,' > %t.json
// RUN: not graph-compile %t.json -o %t.so 2>&1 | FileCheck %s --check-prefix=JSON
// JSON: .json:2:1: error: malformed JSON

func.func @main(%x: tensor<2xf32> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "y"}) {
  %0 = graph.relu %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
