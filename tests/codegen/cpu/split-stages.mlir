// RUN: graph-opt %s --lower-kernels --choose-strategies | FileCheck %s

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

// CHECK: func.func private @max_pool_gradient_0_stage
// CHECK-SAME: graph.strategy = "windows"
// CHECK: func.func private @max_pool_gradient_0(
// CHECK-SAME: graph.strategy = "rows"
