// RUN: graph-opt %s --split-input-file --channels-last | FileCheck %s

// One transpose at each end; biases become vectors along the last dimension.
// CHECK-LABEL: func.func @net
// CHECK: %[[X:.*]] = graph.transpose %arg0 [0, 2, 3, 1]
// CHECK-NOT: graph.transpose
// CHECK: graph.conv %[[X]], %arg1 {{.*}} channels_last
// CHECK-NOT: graph.transpose
// CHECK: graph.add {{.*}} : tensor<1x8x8x4xf32>, tensor<1x1x1x4xf32> -> tensor<1x8x8x4xf32>
// CHECK-NOT: graph.transpose
// CHECK: graph.max_pool {{.*}} channels_last
// CHECK-NOT: graph.transpose
// CHECK: graph.concat {{.*}} axis 3
// CHECK-NOT: graph.transpose
// CHECK: graph.pad {{.*}} low [0, 1, 0, 2] high [0, 0, 0, 0]
// CHECK-NOT: graph.transpose
// CHECK: graph.slice {{.*}} starts [0, 1, 0, 2] sizes [1, 4, 4, 8]
// CHECK-NOT: graph.transpose
// CHECK: graph.softmax {{.*}} axis 3
// CHECK-NOT: graph.transpose
// CHECK: graph.reduce mean {{.*}} axes [1, 2] keepdims
// CHECK-NOT: graph.transpose
// CHECK: return
func.func @net(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x8xf32> {
  %b = graph.constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>
  %z = graph.constant dense<0.0> : tensor<f32>
  %0 = graph.conv %x, %w strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_first : tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32> -> tensor<1x4x8x8xf32>
  %1 = graph.add %0, %b : tensor<1x4x8x8xf32>, tensor<4x1x1xf32> -> tensor<1x4x8x8xf32>
  %2 = graph.max_pool %1 kernel [2, 2] strides [2, 2] padding [0, 0, 0, 0] dilations [1, 1] channels_first : tensor<1x4x8x8xf32> -> tensor<1x4x4x4xf32>
  %3 = graph.concat %2, %2 axis 1 : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x8x4x4xf32>
  %4 = graph.pad %3, %z low [0, 2, 1, 0] high [0, 0, 0, 0] constant : tensor<1x8x4x4xf32>, tensor<f32> -> tensor<1x10x5x4xf32>
  %5 = graph.slice %4 starts [0, 2, 1, 0] sizes [1, 8, 4, 4] steps [1, 1, 1, 1] : tensor<1x10x5x4xf32> -> tensor<1x8x4x4xf32>
  %6 = graph.softmax %5 axis 1 : tensor<1x8x4x4xf32>
  %7 = graph.reduce mean %6 axes [2, 3] keepdims : tensor<1x8x4x4xf32> -> tensor<1x8x1x1xf32>
  %8 = graph.reshape %7 : tensor<1x8x1x1xf32> to tensor<1x8xf32>
  return %8 : tensor<1x8xf32>
}

// -----

// A channel shuffle becomes a permutation within the last dimension.
// CHECK-LABEL: func.func @shuffle
// CHECK: graph.transpose %arg0 [0, 2, 3, 1]
// CHECK: graph.conv {{.*}} channels_last
// CHECK: graph.reshape %{{.*}} : tensor<1x8x8x6xf32> to tensor<1x8x8x2x3xf32>
// CHECK-NEXT: graph.transpose %{{.*}} [0, 1, 2, 4, 3]
// CHECK-NEXT: graph.reshape %{{.*}} : tensor<1x8x8x3x2xf32> to tensor<1x8x8x6xf32>
// CHECK-NEXT: graph.conv {{.*}} channels_last
// CHECK-NEXT: graph.transpose %{{.*}} [0, 3, 1, 2]
// CHECK-NEXT: return
func.func @shuffle(%x: tensor<1x6x8x8xf32>, %w: tensor<6x6x1x1xf32>) -> tensor<1x6x8x8xf32> {
  %0 = graph.conv %x, %w strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_first : tensor<1x6x8x8xf32>, tensor<6x6x1x1xf32> -> tensor<1x6x8x8xf32>
  %1 = graph.reshape %0 : tensor<1x6x8x8xf32> to tensor<1x2x3x8x8xf32>
  %2 = graph.transpose %1 [0, 2, 1, 3, 4] : tensor<1x2x3x8x8xf32> -> tensor<1x3x2x8x8xf32>
  %3 = graph.reshape %2 : tensor<1x3x2x8x8xf32> to tensor<1x6x8x8xf32>
  %4 = graph.conv %3, %w strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_first : tensor<1x6x8x8xf32>, tensor<6x6x1x1xf32> -> tensor<1x6x8x8xf32>
  return %4 : tensor<1x6x8x8xf32>
}

// -----

// A reduction without keepdims needs no transpose; without convolutions
// nothing changes.
// CHECK-LABEL: func.func @reduce
// CHECK: graph.max_pool
// CHECK-NEXT: graph.reduce mean %{{.*}} axes [1, 2] : tensor<1x4x4x3xf32> -> tensor<1x3xf32>
// CHECK-NEXT: return
func.func @reduce(%x: tensor<1x3x8x8xf32>) -> tensor<1x3xf32> {
  %0 = graph.max_pool %x kernel [2, 2] strides [2, 2] padding [0, 0, 0, 0] dilations [1, 1] channels_first : tensor<1x3x8x8xf32> -> tensor<1x3x4x4xf32>
  %1 = graph.reduce mean %0 axes [2, 3] : tensor<1x3x4x4xf32> -> tensor<1x3xf32>
  return %1 : tensor<1x3xf32>
}

// -----

// Transposes of constants stay where they are: between two of them they would
// go to and fro.
// CHECK-LABEL: func.func @constants
// CHECK: graph.conv %{{.*}} channels_last
// CHECK: graph.mul
// CHECK-NEXT: graph.transpose
// CHECK-NEXT: return
func.func @constants(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %a = graph.constant #graph.external<"w.bin", 0, 1024> : tensor<1x8x4x8xf32>
  %b = graph.constant #graph.external<"w.bin", 1024, 1024> : tensor<1x4x8x8xf32>
  %0 = graph.transpose %a [0, 2, 1, 3] : tensor<1x8x4x8xf32> -> tensor<1x4x8x8xf32>
  %1 = graph.transpose %b [0, 1, 3, 2] : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  %2 = graph.add %0, %1 : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  %3 = graph.conv %x, %w strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_first : tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32> -> tensor<1x4x8x8xf32>
  %4 = graph.mul %3, %2 : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  return %4 : tensor<1x4x8x8xf32>
}

// -----

// CHECK-LABEL: func.func @untouched
// CHECK-NEXT: graph.transpose
// CHECK-NEXT: graph.relu
// CHECK-NEXT: return
func.func @untouched(%x: tensor<3x4xf32>) -> tensor<4x3xf32> {
  %0 = graph.transpose %x [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %1 = graph.relu %0 : tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// -----

// What a body carries and yields has the model's layout; in between layouts
// change as elsewhere, and no transpose from before the loop sinks into it.
// CHECK-LABEL: func.func @bodies
// CHECK: %[[ABOVE:.*]] = graph.conv {{.*}} channels_last
// CHECK: %[[TURNED:.*]] = graph.transpose %arg2 [0, 1, 3, 2]
// CHECK-NEXT: graph.scan %{{.*}} length 3 carry (%[[A:.*]] = %arg0)
// CHECK-NEXT: graph.transpose %[[A]] [0, 2, 3, 1]
// CHECK: graph.conv {{.*}} channels_last
// CHECK-NEXT: %[[RELU:.*]] = graph.relu
// CHECK-NEXT: %[[SUM:.*]] = graph.add %[[RELU]], %[[ABOVE]]
// CHECK-NEXT: %[[BACK:.*]] = graph.transpose %[[SUM]] [0, 3, 1, 2]
// CHECK: %[[EXP:.*]] = graph.exp %[[TURNED]]
// CHECK-NEXT: %[[Y:.*]] = graph.mul %[[BACK]], %[[EXP]] :
// CHECK-NEXT: graph.yield %[[Y]]
func.func @bodies(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>, %z: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %0 = graph.conv %x, %w strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_first : tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32> -> tensor<1x4x8x8xf32>
  %t = graph.transpose %z [0, 1, 3, 2] : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  %1 = graph.scan %i length 3 carry (%a = %x) : (tensor<1x4x8x8xf32>) -> (tensor<1x4x8x8xf32>) {
    %2 = graph.conv %a, %w strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_first : tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32> -> tensor<1x4x8x8xf32>
    %3 = graph.relu %2 : tensor<1x4x8x8xf32>
    %4 = graph.add %3, %0 : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
    %5 = graph.exp %t : tensor<1x4x8x8xf32>
    %6 = graph.mul %4, %5 : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
    graph.yield %6 : tensor<1x4x8x8xf32>
  }
  return %1 : tensor<1x4x8x8xf32>
}

// -----

// Gradients read two images. That of weights is none, so that it stays.
// CHECK-LABEL: func.func @gradients
// CHECK: %[[X:.*]] = graph.transpose %arg0 [0, 2, 3, 1]
// CHECK: %[[DY:.*]] = graph.transpose %arg1 [0, 2, 3, 1]
// CHECK: %[[DW:.*]] = graph.conv_weight_gradient %[[X]], %[[DY]] {{.*}} channels_last : tensor<2x8x8x4xf32>, tensor<2x8x8x4xf32> -> tensor<4x4x3x3xf32>
// CHECK: %[[DX:.*]] = graph.max_pool_gradient {{.*}} channels_last : tensor<2x8x8x4xf32>, tensor<2x8x8x4xf32>
// CHECK: %[[V:.*]] = graph.variance %[[DX]] axes [0, 1, 2]
// CHECK: return %[[DW]], %[[V]]
func.func @gradients(%x: tensor<2x4x8x8xf32>, %dy: tensor<2x4x8x8xf32>) -> (tensor<4x4x3x3xf32>, tensor<4xf32>) {
  %0 = graph.conv_weight_gradient %x, %dy kernel [3, 3] strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 1 channels_first : tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32> -> tensor<4x4x3x3xf32>
  %1 = graph.max_pool_gradient %x, %dy kernel [3, 3] strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] channels_first : tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>
  %2 = graph.variance %1 axes [0, 2, 3] : tensor<2x4x8x8xf32> -> tensor<4xf32>
  return %0, %2 : tensor<4x4x3x3xf32>, tensor<4xf32>
}

// -----

// A gradient that comes from elsewhere follows where images have channels last.
// CHECK-LABEL: func.func @follows
// CHECK: %[[DY:.*]] = graph.transpose %arg2 [0, 2, 3, 1]
// CHECK: %[[M:.*]] = graph.mul %{{.*}}, %[[DY]] : tensor<2x8x8x4xf32>, tensor<2x8x8x4xf32> -> tensor<2x8x8x4xf32>
// CHECK: graph.conv_weight_gradient %{{.*}}, %[[M]]
func.func @follows(%x: tensor<2x4x8x8xf32>, %w: tensor<4x4x1x1xf32>, %dy: tensor<2x4x8x8xf32>) -> tensor<4x4x1x1xf32> {
  %0 = graph.conv %x, %w strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_first : tensor<2x4x8x8xf32>, tensor<4x4x1x1xf32> -> tensor<2x4x8x8xf32>
  %1 = graph.mul %0, %dy : tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32> -> tensor<2x4x8x8xf32>
  %2 = graph.conv_weight_gradient %x, %1 kernel [1, 1] strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_first : tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32> -> tensor<4x4x1x1xf32>
  return %2 : tensor<4x4x1x1xf32>
}
