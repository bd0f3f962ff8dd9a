// Two products with the same constant pack it once: one weight.
// RUN: graph-compile %s --emit=kernels | FileCheck %s

// CHECK-LABEL: func.func @init
// CHECK: %[[PACKED:.*]] = graph.dispatch @{{.*}}pack
// CHECK-NOT: graph.dispatch
// CHECK: return %[[PACKED]] :
// CHECK-LABEL: func.func @main
// CHECK: graph.weight "[[WEIGHT:.*]]"
// CHECK-NOT: graph.weight
// CHECK: return
func.func @main(%x: tensor<64x96xf32> {graph.name = "x"}, %y: tensor<64x96xf32> {graph.name = "y"})
    -> (tensor<64x96xf32> {graph.name = "a"}, tensor<64x96xf32> {graph.name = "b"}) {
  %w = graph.constant #graph.external<"w.bin", 0, 36864> : tensor<96x96xf32>
  %a = graph.matmul %x, %w : tensor<64x96xf32>, tensor<96x96xf32> -> tensor<64x96xf32>
  %r = graph.relu %y : tensor<64x96xf32>
  %b = graph.matmul %r, %w : tensor<64x96xf32>, tensor<96x96xf32> -> tensor<64x96xf32>
  return %a, %b : tensor<64x96xf32>, tensor<64x96xf32>
}
