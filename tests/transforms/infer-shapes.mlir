// RUN: graph-opt %s --infer-shapes=shapes=x=4x3x2 | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: tensor<4x3x2xf32> {graph.name = "x"}) -> tensor<4x5xf32>
// CHECK: graph.relu %arg0 : tensor<4x3x2xf32>
// CHECK: graph.reshape %{{.*}} : tensor<4x3x2xf32> to tensor<4x6xf32>
// CHECK: graph.cast %{{.*}} : tensor<4x6xf32> to tensor<4x6xf64>
// CHECK: graph.cast %{{.*}} : tensor<4x6xf64> to tensor<4x6xf32>
// CHECK: graph.matmul %{{.*}} -> tensor<4x5xf32>
func.func @main(%x: tensor<1x3x2xf32> {graph.name = "x"}) -> tensor<1x5xf32> {
  %w = graph.constant #graph.external<"w.bin", 0, 120> : tensor<6x5xf32>
  %0 = graph.relu %x : tensor<1x3x2xf32>
  %1 = graph.reshape %0 : tensor<1x3x2xf32> to tensor<1x6xf32>
  %2 = graph.cast %1 : tensor<1x6xf32> to tensor<1x6xf64>
  %3 = graph.cast %2 : tensor<1x6xf64> to tensor<1x6xf32>
  %4 = graph.matmul %3, %w : tensor<1x6xf32>, tensor<6x5xf32> -> tensor<1x5xf32>
  return %4 : tensor<1x5xf32>
}
