// RUN: graph-opt %s --split-input-file --lower-kernels --mlir-print-local-scope | FileCheck %s

// A negative index counts from the end, and no index leaves the dimension.

// CHECK-LABEL: func.func private
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2)>
// CHECK: arith.index_cast %{{.*}} : i64 to index
// CHECK: arith.cmpi slt
// CHECK: arith.select
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: tensor.extract %arg0[
func.func @main(%x: tensor<3x5x2xf32>, %i: tensor<4x6xi64>) -> tensor<3x4x6x2xf32> {
  %r = graph.kernel (%x_ = %x, %i_ = %i) : (tensor<3x5x2xf32>, tensor<4x6xi64>) -> tensor<3x4x6x2xf32> {
    %y = graph.gather %x_, %i_ axis 1 : tensor<3x5x2xf32>, tensor<4x6xi64> -> tensor<3x4x6x2xf32>
    graph.yield %y : tensor<3x4x6x2xf32>
  }
  return %r : tensor<3x4x6x2xf32>
}

// -----

// Tuples are as many inputs.

// CHECK-LABEL: func.func private
// CHECK: affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, 1)>
// CHECK: tensor.extract %arg0[
func.func @main(%x: tensor<3x5x2xf32>, %i: tensor<4x2xi64>) -> tensor<4x2xf32> {
  %r = graph.kernel (%x_ = %x, %i_ = %i) : (tensor<3x5x2xf32>, tensor<4x2xi64>) -> tensor<4x2xf32> {
    %y = graph.gather_nd %x_, %i_ batch_dims 0 : tensor<3x5x2xf32>, tensor<4x2xi64> -> tensor<4x2xf32>
    graph.yield %y : tensor<4x2xf32>
  }
  return %r : tensor<4x2xf32>
}

// -----

// Elements along an axis.

// CHECK-LABEL: func.func private
// CHECK: linalg.index 0
// CHECK: tensor.extract %arg0[
func.func @main(%x: tensor<3x5xf32>, %i: tensor<3x2xi32>) -> tensor<3x2xf32> {
  %r = graph.kernel (%x_ = %x, %i_ = %i) : (tensor<3x5xf32>, tensor<3x2xi32>) -> tensor<3x2xf32> {
    %y = graph.gather_elements %x_, %i_ axis 1 : tensor<3x5xf32>, tensor<3x2xi32> -> tensor<3x2xf32>
    graph.yield %y : tensor<3x2xf32>
  }
  return %r : tensor<3x2xf32>
}
