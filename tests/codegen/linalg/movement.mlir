// RUN: graph-opt %s --split-input-file --lower-kernels --mlir-print-local-scope | FileCheck %s

// A permutation is a map.

// CHECK-LABEL: func.func private
// CHECK: affine_map<(d0, d1, d2) -> (d1, d2, d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK: linalg.yield %in : f32
func.func @main(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %r = graph.kernel (%x_ = %x) : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
    %y = graph.transpose %x_ [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
    graph.yield %y : tensor<4x2x3xf32>
  }
  return %r : tensor<4x2x3xf32>
}

// -----

// So is a repetition.

// CHECK-LABEL: func.func private
// CHECK: affine_map<(d0, d1, d2) -> (d1, 0)>
// CHECK: linalg.yield %in : f32
func.func @main(%x: tensor<3x1xf32>) -> tensor<2x3x4xf32> {
  %r = graph.kernel (%x_ = %x) : (tensor<3x1xf32>) -> tensor<2x3x4xf32> {
    %y = graph.broadcast %x_ : tensor<3x1xf32> to tensor<2x3x4xf32>
    graph.yield %y : tensor<2x3x4xf32>
  }
  return %r : tensor<2x3x4xf32>
}

// -----

// A reshape that groups no dimensions goes by way of one dimension.

// CHECK-LABEL: func.func private
// CHECK: tensor.collapse_shape %{{.*}} tensor<2x6xf32> into tensor<12xf32>
// CHECK: tensor.expand_shape %{{.*}} tensor<12xf32> into tensor<3x4xf32>
func.func @main(%x: tensor<2x6xf32>) -> tensor<3x4xf32> {
  %r = graph.kernel (%x_ = %x) : (tensor<2x6xf32>) -> tensor<3x4xf32> {
    %y = graph.reshape %x_ : tensor<2x6xf32> to tensor<3x4xf32>
    graph.yield %y : tensor<3x4xf32>
  }
  return %r : tensor<3x4xf32>
}

// -----

// Forward slices are views.

// CHECK-LABEL: func.func private
// CHECK: tensor.extract_slice %{{.*}}[1, 0] [2, 3] [2, 1]
func.func @main(%x: tensor<5x6xf32>) -> tensor<2x3xf32> {
  %r = graph.kernel (%x_ = %x) : (tensor<5x6xf32>) -> tensor<2x3xf32> {
    %y = graph.slice %x_ starts [1, 0] sizes [2, 3] steps [2, 1] : tensor<5x6xf32> -> tensor<2x3xf32>
    graph.yield %y : tensor<2x3xf32>
  }
  return %r : tensor<2x3xf32>
}

// -----

// Backward ones read at computed indices.

// CHECK-LABEL: func.func private
// CHECK: linalg.index 0
// CHECK: tensor.extract %{{.*}}[%{{.*}}]
func.func @main(%x: tensor<5xf32>) -> tensor<2xf32> {
  %r = graph.kernel (%x_ = %x) : (tensor<5xf32>) -> tensor<2xf32> {
    %y = graph.slice %x_ starts [4] sizes [2] steps [-2] : tensor<5xf32> -> tensor<2xf32>
    graph.yield %y : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}

// -----

// Padding by a constant; negative amounts cut first.

// CHECK-LABEL: func.func private
// CHECK: tensor.extract_slice %{{.*}}[1] [4] [1]
// CHECK: tensor.pad %{{.*}} low[0] high[2]
// CHECK: tensor.yield %cst
func.func @main(%x: tensor<5xf32>) -> tensor<6xf32> {
  %r = graph.kernel (%x_ = %x) : (tensor<5xf32>) -> tensor<6xf32> {
    %c = graph.constant dense<1.5> : tensor<f32>
    %y = graph.pad %x_, %c low [-1] high [2] constant : tensor<5xf32>, tensor<f32> -> tensor<6xf32>
    graph.yield %y : tensor<6xf32>
  }
  return %r : tensor<6xf32>
}

// -----

// Reflection is index arithmetic.

// CHECK-LABEL: func.func private
// CHECK: arith.remsi
// CHECK: arith.select
// CHECK: tensor.extract
func.func @main(%x: tensor<5xf32>, %v: tensor<f32>) -> tensor<8xf32> {
  %r = graph.kernel (%x_ = %x, %v_ = %v) : (tensor<5xf32>, tensor<f32>) -> tensor<8xf32> {
    %y = graph.pad %x_, %v_ low [1] high [2] reflect : tensor<5xf32>, tensor<f32> -> tensor<8xf32>
    graph.yield %y : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

// Concatenation.

// CHECK-LABEL: func.func private
// CHECK: tensor.concat dim(1)
func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) -> tensor<2x7xf32> {
  %r = graph.kernel (%a_ = %a, %b_ = %b) : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32> {
    %y = graph.concat %a_, %b_ axis 1 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
    graph.yield %y : tensor<2x7xf32>
  }
  return %r : tensor<2x7xf32>
}

// -----

// Counting.

// CHECK-LABEL: func.func private
// CHECK: linalg.index 0
// CHECK: arith.muli
// CHECK: arith.addi
func.func @main() -> tensor<6xi64> {
  %r = graph.kernel () : () -> tensor<6xi64> {
    %y = graph.iota start 3 step 2 : tensor<6xi64>
    graph.yield %y : tensor<6xi64>
  }
  return %r : tensor<6xi64>
}
