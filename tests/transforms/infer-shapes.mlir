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

// Regions, and what they make, follow.
// CHECK-LABEL: func.func @bodies(
// CHECK-SAME: -> (tensor<4x3x2xf32>, tensor<4x3x2xf32>, tensor<3x2xf32>, tensor<4x3x2xf32>)
// CHECK: graph.if %arg1 : (tensor<4x3x2xf32>)
// CHECK-NEXT: graph.exp %arg0 : tensor<4x3x2xf32>
// CHECK: graph.while (%[[A:.*]] = %arg0) : (tensor<4x3x2xf32>)
// CHECK: graph.exp %{{.*}} : tensor<4x3x2xf32>
// CHECK: graph.scan %{{.*}} length 4 carry (%{{.*}} = %{{.*}}) over (%{{.*}} = %arg0) : (tensor<3x2xf32>, tensor<4x3x2xf32>) -> (tensor<3x2xf32>, tensor<4x3x2xf32>)
// CHECK: graph.add %{{.*}} : tensor<3x2xf32>, tensor<3x2xf32> -> tensor<3x2xf32>
func.func @bodies(%x: tensor<4x1x1xf32> {graph.name = "x"}, %c: tensor<i1>) -> (tensor<4x1x1xf32>, tensor<4x1x1xf32>, tensor<1x1xf32>, tensor<4x1x1xf32>) {
  %0 = graph.if %c : (tensor<4x1x1xf32>) {
    %4 = graph.exp %x : tensor<4x1x1xf32>
    graph.yield %4 : tensor<4x1x1xf32>
  } else {
    graph.yield %x : tensor<4x1x1xf32>
  }
  %1 = graph.while (%a = %x) : (tensor<4x1x1xf32>) {
    graph.condition %c
  } do (%a) {
    %4 = graph.exp %a : tensor<4x1x1xf32>
    graph.yield %4 : tensor<4x1x1xf32>
  }
  %first = graph.reduce max %x axes [0] : tensor<4x1x1xf32> -> tensor<1x1xf32>
  %2:2 = graph.scan %i length 4 carry (%a = %first) over (%r = %x) : (tensor<1x1xf32>, tensor<4x1x1xf32>) -> (tensor<1x1xf32>, tensor<4x1x1xf32>) {
    %4 = graph.add %a, %r : tensor<1x1xf32>, tensor<1x1xf32> -> tensor<1x1xf32>
    graph.yield %4, %4 : tensor<1x1xf32>, tensor<1x1xf32>
  }
  return %0, %1, %2#0, %2#1 : tensor<4x1x1xf32>, tensor<4x1x1xf32>, tensor<1x1xf32>, tensor<4x1x1xf32>
}
