// Branches and loops in each phase, printed and read again, give the same
// artifact, to the byte.

// RUN: rm -rf %t && mkdir -p %t
// RUN: graph-compile %s -o %t/whole.so
// RUN: graph-compile %s --emit=kernels -o %t/kernels.mlir
// RUN: graph-compile %t/kernels.mlir --from=kernels --emit=plan -o %t/plan.mlir
// RUN: graph-compile %t/plan.mlir --from=plan --emit=llvm -o %t/llvm.mlirbc
// RUN: graph-compile %t/llvm.mlirbc --from=llvm -o %t/parts.so
// RUN: cmp %t/whole.so %t/parts.so

// RUN: FileCheck %s < %t/plan.mlir
// CHECK: plan.function @main
// CHECK: plan.loop {{.*}}length 5 alone
// CHECK-NEXT: plan.if
// CHECK-NEXT: plan.dispatch
// CHECK-NEXT: plan.else
// CHECK-NEXT: plan.dispatch
// CHECK-NEXT: plan.end_if
// CHECK-NEXT: plan.dispatch
// CHECK-NEXT: plan.end_loop

func.func @main(%x: tensor<5x8xf32> {graph.name = "x"}, %flags: tensor<5xi1> {graph.name = "flags"})
    -> (tensor<8xf32> {graph.name = "y"}) {
  %zero = graph.constant dense<0.0> : tensor<8xf32>
  %y = graph.scan %i length 5 carry (%a = %zero) over (%r = %x, %c = %flags)
      : (tensor<8xf32>, tensor<5x8xf32>, tensor<5xi1>) -> (tensor<8xf32>) {
    %0 = graph.if %c : (tensor<8xf32>) {
      %1 = graph.exp %r : tensor<8xf32>
      graph.yield %1 : tensor<8xf32>
    } else {
      %1 = graph.neg %r : tensor<8xf32>
      graph.yield %1 : tensor<8xf32>
    }
    %2 = graph.add %a, %0 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
    graph.yield %2 : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}
