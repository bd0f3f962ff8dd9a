// Where a CPU multiplies pairs of bf16, factors are turned and packed for it, but not
// one that is repeated along dimensions in the middle: it has no panels.

// RUN: graph-compile %s --from=graph --cpu=znver5 --emit=plan -o - | FileCheck %s --check-prefix=PLAN
// RUN: graph-compare %s --runs=1 --verify | FileCheck %s
// PLAN: plan.function @main
// CHECK: against the reference

func.func @main(%x: tensor<7x3x4x4x8xbf16> {graph.name = "x"}, %y: tensor<7x1x1x6x4xbf16> {graph.name = "y"})
    -> (tensor<7x3x4x8x6xbf16> {graph.name = "z"}) {
  %0 = graph.tanh %x : tensor<7x3x4x4x8xbf16>
  %1 = graph.matmul %0, %y transpose_a transpose_b : tensor<7x3x4x4x8xbf16>, tensor<7x1x1x6x4xbf16> -> tensor<7x3x4x8x6xbf16>
  return %1 : tensor<7x3x4x8x6xbf16>
}
