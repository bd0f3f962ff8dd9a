// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies | FileCheck %s

// All of what the first stage computes is needed for any result, so that the
// kernel would be one chunk: the stage is a kernel of its own.
// CHECK-LABEL: func.func @max_pool_gradient(
// CHECK: %[[TAPS:.*]] = graph.dispatch @max_pool_gradient_0_stage(%arg0) : (tensor<2x64x64x16xf32>) -> tensor<2x32x32x16xi32>
// CHECK: graph.dispatch @max_pool_gradient_0(%arg1, %[[TAPS]]) : (tensor<2x32x32x16xf32>, tensor<2x32x32x16xi32>) -> tensor<2x64x64x16xf32>
func.func @max_pool_gradient(%x: tensor<2x64x64x16xf32> {graph.name = "x"}, %dy: tensor<2x32x32x16xf32> {graph.name = "dy"})
    -> (tensor<2x64x64x16xf32> {graph.name = "dx"}) {
  %0 = graph.kernel (%a = %x, %b = %dy) : (tensor<2x64x64x16xf32>, tensor<2x32x32x16xf32>) -> tensor<2x64x64x16xf32> {
    %1 = graph.max_pool_gradient %a, %b kernel [3, 3] strides [2, 2] padding [1, 1, 1, 1] dilations [1, 1] channels_last : tensor<2x64x64x16xf32>, tensor<2x32x32x16xf32>
    graph.yield %1 : tensor<2x64x64x16xf32>
  }
  return %0 : tensor<2x64x64x16xf32>
}

// Both reductions of a softmax along the first dimension, and what lies between.
// CHECK-LABEL: func.func @softmax(
// CHECK: %[[MAX:.*]] = graph.dispatch @softmax_0_stage(%arg0) : (tensor<300x250xf32>) -> tensor<250xf32>
// CHECK: %[[EXP:.*]] = graph.dispatch @softmax_0_stage_0(%arg0, %[[MAX]])
// CHECK: %[[SUM:.*]] = graph.dispatch @softmax_0_stage_1(%[[EXP]])
// CHECK: graph.dispatch @softmax_0(%[[EXP]], %[[SUM]])
func.func @softmax(%x: tensor<300x250xf32> {graph.name = "x"}) -> (tensor<300x250xf32> {graph.name = "y"}) {
  %0 = graph.kernel (%a = %x) : (tensor<300x250xf32>) -> tensor<300x250xf32> {
    %1 = graph.softmax %a axis 0 : tensor<300x250xf32>
    graph.yield %1 : tensor<300x250xf32>
  }
  return %0 : tensor<300x250xf32>
}

// Little work stays together.
// CHECK-LABEL: func.func @small(
// CHECK-NEXT: graph.dispatch @softmax_1(%arg0)
// CHECK-NEXT: return
func.func @small(%x: tensor<30x25xf32> {graph.name = "x"}) -> (tensor<30x25xf32> {graph.name = "y"}) {
  %0 = graph.kernel (%a = %x) : (tensor<30x25xf32>) -> tensor<30x25xf32> {
    %1 = graph.softmax %a axis 0 : tensor<30x25xf32>
    graph.yield %1 : tensor<30x25xf32>
  }
  return %0 : tensor<30x25xf32>
}

// Few weights and many positions: parts of the sum are a kernel of their own.
// CHECK-LABEL: func.func @weight_gradient(
// CHECK: %[[PARTS:.*]] = graph.dispatch @conv_weight_gradient_0_parts(%arg0, %arg1) : (tensor<4x40x40x16xf32>, tensor<4x40x40x32xf32>) -> tensor<4x32x16x3x3xf32>
// CHECK: graph.dispatch @conv_weight_gradient_0(%[[PARTS]]) : (tensor<4x32x16x3x3xf32>) -> tensor<32x16x3x3xf32>
func.func @weight_gradient(%x: tensor<4x40x40x16xf32> {graph.name = "x"}, %dy: tensor<4x40x40x32xf32> {graph.name = "dy"})
    -> (tensor<32x16x3x3xf32> {graph.name = "dw"}) {
  %0 = graph.kernel (%a = %x, %b = %dy) : (tensor<4x40x40x16xf32>, tensor<4x40x40x32xf32>) -> tensor<32x16x3x3xf32> {
    %1 = graph.conv_weight_gradient %a, %b kernel [3, 3] strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 1 channels_last : tensor<4x40x40x16xf32>, tensor<4x40x40x32xf32> -> tensor<32x16x3x3xf32>
    graph.yield %1 : tensor<32x16x3x3xf32>
  }
  return %0 : tensor<32x16x3x3xf32>
}

// A long reduction of its own is divided as well; that of a prime number of rows
// only along another dimension.
// CHECK-LABEL: func.func @sums(
// CHECK: %[[ROWS:.*]] = graph.dispatch @reduce_0_parts(%arg0) : (tensor<4000x32xf32>) -> tensor<10x32xf32>
// CHECK: graph.dispatch @reduce_0(%[[ROWS]]) : (tensor<10x32xf32>) -> tensor<32xf32>
// CHECK: %[[PRIME:.*]] = graph.dispatch @reduce_1_parts(%arg1) : (tensor<397x20x16xf32>) -> tensor<20x16xf32>
// CHECK: graph.dispatch @reduce_1(%[[PRIME]]) : (tensor<20x16xf32>) -> tensor<16xf32>
func.func @sums(%x: tensor<4000x32xf32> {graph.name = "x"}, %z: tensor<397x20x16xf32> {graph.name = "z"})
    -> (tensor<32xf32> {graph.name = "a"}, tensor<16xf32> {graph.name = "b"}) {
  %0 = graph.kernel (%a = %x) : (tensor<4000x32xf32>) -> tensor<32xf32> {
    %1 = graph.reduce sum %a axes [0] : tensor<4000x32xf32> -> tensor<32xf32>
    graph.yield %1 : tensor<32xf32>
  }
  %2 = graph.kernel (%a = %z) : (tensor<397x20x16xf32>) -> tensor<16xf32> {
    %3 = graph.reduce max %a axes [0, 1] : tensor<397x20x16xf32> -> tensor<16xf32>
    graph.yield %3 : tensor<16xf32>
  }
  return %0, %2 : tensor<32xf32>, tensor<16xf32>
}

// CHECK: func.func private @max_pool_gradient_0_stage
// CHECK-SAME: graph.plan = #cpu.windows<
// CHECK: func.func private @max_pool_gradient_0(
// CHECK-SAME: graph.plan = #cpu.rows<
// CHECK: func.func private @conv_weight_gradient_0_parts
// CHECK-SAME: graph.plan = #cpu.winograd_gradient<
