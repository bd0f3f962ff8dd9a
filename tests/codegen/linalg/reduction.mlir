// RUN: graph-opt %s --split-input-file --lower-kernels --mlir-print-local-scope | FileCheck %s

// Kept dimensions of 1 are a view.

// CHECK-LABEL: func.func private
// CHECK: linalg.fill
// CHECK: affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1)>], iterator_types = ["reduction", "parallel", "reduction"]
// CHECK: arith.addf
// CHECK: arith.mulf
// CHECK: tensor.expand_shape %{{.*}} tensor<3xf32> into tensor<1x3x1xf32>
func.func @main(%x: tensor<2x3x4xf32>) -> tensor<1x3x1xf32> {
  %r = graph.kernel (%x_ = %x) : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32> {
    %y = graph.reduce mean %x_ axes [0, 2] keepdims : tensor<2x3x4xf32> -> tensor<1x3x1xf32>
    graph.yield %y : tensor<1x3x1xf32>
  }
  return %r : tensor<1x3x1xf32>
}

// -----

// Any of booleans.

// CHECK-LABEL: func.func private
// CHECK: arith.constant false
// CHECK: arith.maxui %{{.*}} : i1
func.func @main(%x: tensor<4xi1>) -> tensor<i1> {
  %r = graph.kernel (%x_ = %x) : (tensor<4xi1>) -> tensor<i1> {
    %y = graph.reduce max %x_ axes [0] : tensor<4xi1> -> tensor<i1>
    graph.yield %y : tensor<i1>
  }
  return %r : tensor<i1>
}

// -----

// The extreme, then the first index that has it; NaN is an extreme.

// CHECK-LABEL: func.func private
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<2xf32>)
// CHECK: arith.maximumf
// CHECK: linalg.fill ins(%{{.*}} : i32) outs(%{{.*}} : tensor<2xi32>)
// CHECK: linalg.index 1
// CHECK: arith.cmpf oeq
// CHECK: arith.cmpf uno
// CHECK: arith.select
// CHECK: arith.minsi
// CHECK: arith.extsi %{{.*}} : i32 to i64
func.func @main(%x: tensor<2x5xf32>) -> tensor<2xi64> {
  %r = graph.kernel (%x_ = %x) : (tensor<2x5xf32>) -> tensor<2xi64> {
    %y = graph.argmax %x_ axis 1 : tensor<2x5xf32> -> tensor<2xi64>
    graph.yield %y : tensor<2xi64>
  }
  return %r : tensor<2xi64>
}

// -----

// The last index of the smallest unsigned integer.

// CHECK-LABEL: func.func private
// CHECK: arith.minui %{{.*}} : i8
// CHECK: arith.cmpi eq
// CHECK: arith.maxui %{{.*}} : i32
func.func @main(%x: tensor<2x5xui8>) -> tensor<2xi64> {
  %r = graph.kernel (%x_ = %x) : (tensor<2x5xui8>) -> tensor<2xi64> {
    %y = graph.argmin %x_ axis 1 select_last_index : tensor<2x5xui8> -> tensor<2xi64>
    graph.yield %y : tensor<2xi64>
  }
  return %r : tensor<2xi64>
}

// -----

// A running sum adds what is not ahead.

// CHECK-LABEL: func.func private
// CHECK: affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK: arith.cmpi sle
// CHECK: arith.select
// CHECK: arith.addf
func.func @main(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %r = graph.kernel (%x_ = %x) : (tensor<2x5xf32>) -> tensor<2x5xf32> {
    %y = graph.cumsum %x_ axis 1 : tensor<2x5xf32>
    graph.yield %y : tensor<2x5xf32>
  }
  return %r : tensor<2x5xf32>
}
