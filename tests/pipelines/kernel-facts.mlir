// What a profile tells of a kernel comes from its function's attributes, by way of
// any phase: the estimate, the plan, the work and the model's nodes.

// RUN: rm -rf %t && mkdir %t
// RUN: graph-compile %s --emit=kernels -o %t/chosen.mlir
// RUN: sed 's/graph.estimate = [0-9]*/graph.estimate = 250000/' %t/chosen.mlir > %t/kernels.mlir
// RUN: graph-compile %t/kernels.mlir --from=kernels --emit=plan -o %t/plan.mlir
// RUN: graph-compile %t/kernels.mlir --from=kernels --emit=llvm -o %t/llvm.mlir
// RUN: FileCheck %s --check-prefix=LLVM --input-file=%t/llvm.mlir
// RUN: graph-compile %t/kernels.mlir --from=kernels -o %t/kernels.so
// RUN: graph-compile %t/plan.mlir --from=plan -o %t/plan.so
// RUN: graph-compile %t/llvm.mlir --from=llvm -o %t/llvm.so
// RUN: cmp %t/kernels.so %t/plan.so
// RUN: cmp %t/kernels.so %t/llvm.so
// Of a dispatch that names no nodes, the kernel's own counts.
// RUN: sed 's/\(= plan.dispatch .*\) loc(#loc[0-9]*)$/\1 loc(unknown)/' %t/plan.mlir > %t/unnamed.mlir
// RUN: FileCheck %s --check-prefix=UNNAMED --input-file=%t/unnamed.mlir
// RUN: graph-compile %t/unnamed.mlir --from=plan -o %t/unnamed.so
// RUN: graph-run %t/unnamed.so --input x=random --profile --json --runs 2 | FileCheck %s --check-prefix=KERNEL

// RUN: graph-run %t/llvm.so --input x=random --profile --json --runs 2 | FileCheck %s

// LLVM: module @neg_exp_0 {{.*}}graph.estimate = 250000 : i64{{.*}}graph.plan = #cpu.rows<{{.*}}plan.work = #plan.work<operations = 1024, bytes = 4096>

// CHECK:      "kernel": "neg_exp_0",
// CHECK-NEXT: "nodes": [
// CHECK-NEXT:   "the first",
// CHECK-NEXT:   "/layer/Exp"
// CHECK-NEXT: ],
// CHECK-NEXT: "plan": "#cpu.rows<outer = 0, 
// CHECK:      "operations": 1024.0,
// CHECK:      "bytes": 4096.0,
// CHECK:      "estimated_ms": 0.
// CHECK:      "estimate_ratio":

// UNNAMED: plan.dispatch @neg_exp_0 {{.*}}loc(unknown)
// KERNEL:      "nodes": [
// KERNEL-NEXT:   "the first"
// KERNEL-NEXT: ],

func.func @main(%x: tensor<512xf32> {graph.name = "x"}) -> (tensor<512xf32> {graph.name = "y"}) {
  %0 = graph.neg %x : tensor<512xf32> loc("the first")
  %1 = graph.exp %0 : tensor<512xf32> loc("/layer/Exp")
  return %1 : tensor<512xf32>
}
