// RUN: graph-opt %s --split-input-file --lower-kernels --mlir-print-local-scope | FileCheck %s

// max; exp; sum; quotient.

// CHECK-LABEL: func.func private
// CHECK: arith.maximumf
// CHECK: affine_map<(d0, d1) -> (d0)>
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: arith.divf
func.func @main(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %r = graph.kernel (%x_ = %x) : (tensor<2x5xf32>) -> tensor<2x5xf32> {
    %y = graph.softmax %x_ axis 1 : tensor<2x5xf32>
    graph.yield %y : tensor<2x5xf32>
  }
  return %r : tensor<2x5xf32>
}

// -----

// In f32 to the end.

// CHECK-LABEL: func.func private
// CHECK: tensor<2x5xf32>
// CHECK: math.exp %{{.*}} : f32
// CHECK: arith.divf %{{.*}} : f32
// CHECK: arith.truncf
func.func @main(%x: tensor<2x5xf16>) -> tensor<2x5xf16> {
  %r = graph.kernel (%x_ = %x) : (tensor<2x5xf16>) -> tensor<2x5xf16> {
    %y = graph.softmax %x_ axis 1 : tensor<2x5xf16>
    graph.yield %y : tensor<2x5xf16>
  }
  return %r : tensor<2x5xf16>
}

// -----

// mean; Σ (x - mean)²; 1/√(variance + ε); the result in one pass.

// CHECK-LABEL: func.func private
// CHECK: arith.addf
// CHECK: arith.mulf
// CHECK: %[[D:.*]] = arith.subf
// CHECK: arith.mulf %[[D]], %[[D]]
// CHECK: math.rsqrt
// CHECK: arith.subf
// CHECK: arith.mulf
// CHECK: arith.mulf
// CHECK: arith.addf
func.func @main(%x: tensor<2x5xf32>, %s: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<2x5xf32> {
  %r = graph.kernel (%x_ = %x, %s_ = %s, %b_ = %b) : (tensor<2x5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<2x5xf32> {
    %y = graph.layer_norm %x_, %s_, %b_ axis 1 epsilon 1.000000e-05 : tensor<2x5xf32>, tensor<5xf32>, tensor<5xf32>
    graph.yield %y : tensor<2x5xf32>
  }
  return %r : tensor<2x5xf32>
}

// -----

// RMS norm: no mean.

// CHECK-LABEL: func.func private
// CHECK-NOT: arith.subf
// CHECK: math.rsqrt
// CHECK-NOT: arith.subf
func.func @main(%x: tensor<2x5xf32>, %s: tensor<5xf32>) -> tensor<2x5xf32> {
  %r = graph.kernel (%x_ = %x, %s_ = %s) : (tensor<2x5xf32>, tensor<5xf32>) -> tensor<2x5xf32> {
    %y = graph.layer_norm %x_, %s_ axis 1 epsilon 1.000000e-05 rms : tensor<2x5xf32>, tensor<5xf32>
    graph.yield %y : tensor<2x5xf32>
  }
  return %r : tensor<2x5xf32>
}

// -----

// Scores, softmax, values, which say what they are; queries of several heads
// share a key head.

// CHECK-LABEL: func.func private
// CHECK: tensor.expand_shape %{{.*}} tensor<1x4x3x8xf32> into tensor<1x2x2x3x8xf32>
// CHECK: affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
// CHECK-SAME: origin.op = #origin.attention<scores>
// CHECK: arith.mulf
// CHECK: origin.op = #origin.attention<masked>
// CHECK: linalg.index 2
// CHECK: linalg.index 3
// CHECK: arith.cmpi sle
// CHECK: arith.select
// CHECK: origin.op = #origin.attention<largest>
// CHECK: origin.op = #origin.attention<exponentials>
// CHECK: math.exp
// CHECK: origin.op = #origin.attention<sum>
// CHECK: origin.op = #origin.attention<weights>
// CHECK: affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d5, d4)>
// CHECK-SAME: origin.op = #origin.attention<values>
// CHECK: tensor.collapse_shape
func.func @main(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>) -> tensor<1x4x3x6xf32> {
  %r = graph.kernel (%q_ = %q, %k_ = %k, %v_ = %v) : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>) -> tensor<1x4x3x6xf32> {
    %y = graph.attention %q_, %k_, %v_ scale 5.000000e-01 causal : tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>
    graph.yield %y : tensor<1x4x3x6xf32>
  }
  return %r : tensor<1x4x3x6xf32>
}

// -----

// Squares in a window along the channels; x^-3/4 by roots.

// CHECK-LABEL: func.func private
// CHECK: tensor.pad %{{.*}} low[0, 1, 0] high[0, 2, 0]
// CHECK: affine_map<(d0, d1, d2, d3) -> (d0, d1 + d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d3)>
// CHECK: math.sqrt
// CHECK: math.sqrt
func.func @main(%x: tensor<1x6x3xf32>) -> tensor<1x6x3xf32> {
  %r = graph.kernel (%x_ = %x) : (tensor<1x6x3xf32>) -> tensor<1x6x3xf32> {
    %y = graph.lrn %x_ size 4 alpha 1.000000e-04 beta 7.500000e-01 bias 1.000000e+00 channels_first : tensor<1x6x3xf32>
    graph.yield %y : tensor<1x6x3xf32>
  }
  return %r : tensor<1x6x3xf32>
}
