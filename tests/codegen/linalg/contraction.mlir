// RUN: graph-opt %s --split-input-file --lower-kernels --mlir-print-local-scope | FileCheck %s

// batch, m, n, k; a batch that broadcasts is read at 0.

// CHECK-LABEL: func.func private
// CHECK: %[[Z:.*]] = linalg.fill
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} {{.*}} outs(%[[Z]]
// CHECK: %[[M:.*]] = arith.mulf
// CHECK: arith.addf %{{.*}}, %[[M]]
func.func @main(%a: tensor<1x3x4xf32>, %b: tensor<2x5x4xf32>) -> tensor<2x3x5xf32> {
  %r = graph.kernel (%a_ = %a, %b_ = %b) : (tensor<1x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32> {
    %y = graph.matmul %a_, %b_ transpose_b : tensor<1x3x4xf32>, tensor<2x5x4xf32> -> tensor<2x3x5xf32>
    graph.yield %y : tensor<2x3x5xf32>
  }
  return %r : tensor<2x3x5xf32>
}

// -----

// Rows and columns have no m or n.

// CHECK-LABEL: func.func private
// CHECK: indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>]
func.func @main(%a: tensor<4xf32>, %b: tensor<4x5xf32>) -> tensor<5xf32> {
  %r = graph.kernel (%a_ = %a, %b_ = %b) : (tensor<4xf32>, tensor<4x5xf32>) -> tensor<5xf32> {
    %y = graph.matmul %a_, %b_ : tensor<4xf32>, tensor<4x5xf32> -> tensor<5xf32>
    graph.yield %y : tensor<5xf32>
  }
  return %r : tensor<5xf32>
}

// -----

// Narrow floats accumulate in f32, and are rounded once.

// CHECK-LABEL: func.func private
// CHECK: linalg.fill {{.*}} -> tensor<3x5xf32>
// CHECK: arith.extf
// CHECK: arith.extf
// CHECK: arith.mulf %{{.*}} : f32
// CHECK-> tensor<3x5xf32>
// CHECK: arith.truncf
// CHECK-> tensor<3x5xf16>
func.func @main(%a: tensor<3x4xf16>, %b: tensor<4x5xf16>) -> tensor<3x5xf16> {
  %r = graph.kernel (%a_ = %a, %b_ = %b) : (tensor<3x4xf16>, tensor<4x5xf16>) -> tensor<3x5xf16> {
    %y = graph.matmul %a_, %b_ : tensor<3x4xf16>, tensor<4x5xf16> -> tensor<3x5xf16>
    graph.yield %y : tensor<3x5xf16>
  }
  return %r : tensor<3x5xf16>
}

// -----

// Narrow integers accumulate in i32, extended by their sign.

// CHECK-LABEL: func.func private
// CHECK: arith.extui
// CHECK: arith.muli %{{.*}} : i32
// CHECK: arith.trunci
func.func @main(%a: tensor<3x4xui16>, %b: tensor<4x5xui16>) -> tensor<3x5xui16> {
  %r = graph.kernel (%a_ = %a, %b_ = %b) : (tensor<3x4xui16>, tensor<4x5xui16>) -> tensor<3x5xui16> {
    %y = graph.matmul %a_, %b_ : tensor<3x4xui16>, tensor<4x5xui16> -> tensor<3x5xui16>
    graph.yield %y : tensor<3x5xui16>
  }
  return %r : tensor<3x5xui16>
}

// -----

// Bytes stay in i32, each extended by its own sign.

// CHECK-LABEL: func.func private
// CHECK-DAG: arith.extui
// CHECK-DAG: arith.extsi
// CHECK: arith.muli %{{.*}} : i32
// CHECK-NOT: arith.trunci
func.func @main(%a: tensor<3x4xui8>, %b: tensor<4x5xi8>) -> tensor<3x5xi32> {
  %r = graph.kernel (%a_ = %a, %b_ = %b) : (tensor<3x4xui8>, tensor<4x5xi8>) -> tensor<3x5xi32> {
    %y = graph.matmul %a_, %b_ : tensor<3x4xui8>, tensor<4x5xi8> -> tensor<3x5xi32>
    graph.yield %y : tensor<3x5xi32>
  }
  return %r : tensor<3x5xi32>
}

// -----

// channels_last: n, oh, ow, o, kh, kw, c.

// CHECK-LABEL: func.func private
// CHECK: %[[X:.*]] = tensor.pad %{{.*}} low[0, 1, 0, 0] high[0, 1, 0, 0]
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d4, d2 + d5 * 2, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d6, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%[[X]],
// CHECK-SAME: origin.op = #origin.convolution<image, position, position, output, tap, tap, channel>
func.func @main(%x: tensor<1x8x7x3xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x3x4xf32> {
  %r = graph.kernel (%x_ = %x, %w_ = %w) : (tensor<1x8x7x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x3x4xf32> {
    %y = graph.conv %x_, %w_ strides [2, 1] padding [1, 0, 1, 0] dilations [1, 2] groups 1 channels_last : tensor<1x8x7x3xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x3x4xf32>
    graph.yield %y : tensor<1x4x3x4xf32>
  }
  return %r : tensor<1x4x3x4xf32>
}

// -----

// channels_first: the same iterators, other maps; no padding, no pad.

// CHECK-LABEL: func.func private
// CHECK-NOT: tensor.pad
// CHECK: indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1 + d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d2, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]
// CHECK-SAME: origin.op = #origin.convolution<image, position, output, tap, channel>
func.func @main(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) -> tensor<1x4x6xf32> {
  %r = graph.kernel (%x_ = %x, %w_ = %w) : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x6xf32> {
    %y = graph.conv %x_, %w_ strides [1] padding [0, 0] dilations [1] groups 1 channels_first : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x6xf32>
    graph.yield %y : tensor<1x4x6xf32>
  }
  return %r : tensor<1x4x6xf32>
}

// -----

// Groups are a dimension of operands and result: n, oh, ow, g, o, kh, kw, c.

// CHECK-LABEL: func.func private
// CHECK: tensor.expand_shape %{{.*}} tensor<1x8x8x4xf32> into tensor<1x8x8x2x2xf32>
// CHECK: tensor.expand_shape %{{.*}} tensor<6x2x3x3xf32> into tensor<2x3x2x3x3xf32>
// CHECK: affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1 + d5, d2 + d6, d3, d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d3, d4, d7, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4)>
// CHECK-SAME: origin.op = #origin.convolution<image, position, position, group, output, tap, tap, channel>
// CHECK: tensor.collapse_shape %{{.*}} tensor<1x6x6x2x3xf32> into tensor<1x6x6x6xf32>
func.func @main(%x: tensor<1x8x8x4xf32>, %w: tensor<6x2x3x3xf32>) -> tensor<1x6x6x6xf32> {
  %r = graph.kernel (%x_ = %x, %w_ = %w) : (tensor<1x8x8x4xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x6x6xf32> {
    %y = graph.conv %x_, %w_ strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 2 channels_last : tensor<1x8x8x4xf32>, tensor<6x2x3x3xf32> -> tensor<1x6x6x6xf32>
    graph.yield %y : tensor<1x6x6x6xf32>
  }
  return %r : tensor<1x6x6x6xf32>
}

// -----

// Depthwise: n, oh, ow, c, kh, kw.

// CHECK-LABEL: func.func private
// CHECK: tensor.collapse_shape %{{.*}} tensor<4x1x3x3xf32> into tensor<4x3x3xf32>
// CHECK: affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 + d4, d2 + d5, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]
// CHECK-SAME: origin.op = #origin.convolution<image, position, position, group, tap, tap>
func.func @main(%x: tensor<1x8x8x4xf32>, %w: tensor<4x1x3x3xf32>) -> tensor<1x6x6x4xf32> {
  %r = graph.kernel (%x_ = %x, %w_ = %w) : (tensor<1x8x8x4xf32>, tensor<4x1x3x3xf32>) -> tensor<1x6x6x4xf32> {
    %y = graph.conv %x_, %w_ strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 4 channels_last : tensor<1x8x8x4xf32>, tensor<4x1x3x3xf32> -> tensor<1x6x6x4xf32>
    graph.yield %y : tensor<1x6x6x4xf32>
  }
  return %r : tensor<1x6x6x4xf32>
}

// -----

// Taps that lie further apart than the image is wide are gathered first: six
// elements a dimension instead of the seventeen that the window passes over.
// CHECK-LABEL: func.func private @conv_0(
// CHECK:         tensor.pad
// CHECK:         %[[TAPS:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 * 8 + d2, d3 * 8 + d4, d5)>
// CHECK-SAME:      outs({{.*}} : tensor<1x3x2x3x2x4xf32>)
// CHECK:         linalg.generic {{.*}} ins(%[[TAPS]]
func.func @main(%x: tensor<1x2x2x4xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<1x2x2x8xf32> {
  %0 = graph.kernel (%x_ = %x, %w_ = %w) : (tensor<1x2x2x4xf32>, tensor<8x4x3x3xf32>) -> tensor<1x2x2x8xf32> {
    %y = graph.conv %x_, %w_ strides [1, 1] padding [8, 8, 8, 8] dilations [8, 8] groups 1 channels_last : tensor<1x2x2x4xf32>, tensor<8x4x3x3xf32> -> tensor<1x2x2x8xf32>
    graph.yield %y : tensor<1x2x2x8xf32>
  }
  return %0 : tensor<1x2x2x8xf32>
}

// -----

// The gradient by the weights sums up over the batch: what are images of other
// convolutions are its channels, and the other way round.

// CHECK-LABEL: func.func private
// CHECK: affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5 * 2 + d2, d3 + d6, d1)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d0)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
// CHECK-SAME: origin.op = #origin.convolution<output, image, position, position, channel, tap, tap>
func.func @main(%x: tensor<2x7x5x3xf32>, %dy: tensor<2x3x3x4xf32>) -> tensor<4x3x3x3xf32> {
  %r = graph.kernel (%x_ = %x, %dy_ = %dy) : (tensor<2x7x5x3xf32>, tensor<2x3x3x4xf32>) -> tensor<4x3x3x3xf32> {
    %y = graph.conv_weight_gradient %x_, %dy_ kernel [3, 3] strides [2, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_last : tensor<2x7x5x3xf32>, tensor<2x3x3x4xf32> -> tensor<4x3x3x3xf32>
    graph.yield %y : tensor<4x3x3x3xf32>
  }
  return %r : tensor<4x3x3x3xf32>
}
