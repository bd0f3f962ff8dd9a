// RUN: graph-opt %s --split-input-file --lower-kernels --mlir-print-local-scope | FileCheck %s

// The padded input and the window, which is there for its shape.

// CHECK-LABEL: func.func private
// CHECK: %[[X:.*]] = tensor.pad
// CHECK: tensor.yield %[[LOW:.*]] : f32
// CHECK: %[[W:.*]] = tensor.empty() : tensor<3x2xf32>
// CHECK: linalg.fill ins(%[[LOW]] :
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 * 2 + d4, d2 + d5, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%[[X]], %[[W]]
// CHECK: arith.maximumf
func.func @main(%x: tensor<1x8x7x3xf32>) -> tensor<1x4x6x3xf32> {
  %r = graph.kernel (%x_ = %x) : (tensor<1x8x7x3xf32>) -> tensor<1x4x6x3xf32> {
    %y = graph.max_pool %x_ kernel [3, 2] strides [2, 1] padding [1, 0, 0, 0] dilations [1, 1] channels_last : tensor<1x8x7x3xf32> -> tensor<1x4x6x3xf32>
    graph.yield %y : tensor<1x4x6x3xf32>
  }
  return %r : tensor<1x4x6x3xf32>
}

// -----

// Where each window counts alike, the mean is a product.

// CHECK-LABEL: func.func private
// CHECK: arith.addf
// CHECK: arith.mulf %{{.*}}, %{{.*}}
// CHECK-NOT: arith.divf
func.func @main(%x: tensor<1x3x4x4xf32>) -> tensor<1x3x2x2xf32> {
  %r = graph.kernel (%x_ = %x) : (tensor<1x3x4x4xf32>) -> tensor<1x3x2x2xf32> {
    %y = graph.avg_pool %x_ kernel [2, 2] strides [2, 2] padding [0, 0, 0, 0] dilations [1, 1] channels_first : tensor<1x3x4x4xf32> -> tensor<1x3x2x2xf32>
    graph.yield %y : tensor<1x3x2x2xf32>
  }
  return %r : tensor<1x3x2x2xf32>
}

// -----

// Else the elements that count are counted.

// CHECK-LABEL: func.func private
// CHECK: arith.addf
// CHECK: linalg.index 2
// CHECK: arith.index_cast %{{.*}} : index to i32
// CHECK: arith.sitofp
// CHECK: arith.divf
func.func @main(%x: tensor<1x3x4xf32>) -> tensor<1x3x3xf32> {
  %r = graph.kernel (%x_ = %x) : (tensor<1x3x4xf32>) -> tensor<1x3x3xf32> {
    %y = graph.avg_pool %x_ kernel [2] strides [2] padding [1, 1] dilations [1] channels_first : tensor<1x3x4xf32> -> tensor<1x3x3xf32>
    graph.yield %y : tensor<1x3x3xf32>
  }
  return %r : tensor<1x3x3xf32>
}
