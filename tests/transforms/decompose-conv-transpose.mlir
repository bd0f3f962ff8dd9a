// RUN: graph-opt %s --split-input-file --decompose-conv-transpose | FileCheck %s
// RUN: graph-opt %s --split-input-file --decompose-conv-transpose --fold-constants --simplify-graph | FileCheck %s --check-prefix=SIMPLE

// Without remainders weights are only brought in another order; what follows
// is computed with the move.
// CHECK-LABEL: func.func @upsample
// CHECK-NEXT: %[[V:.*]] = graph.transpose %arg1 [2, 3, 1, 0] : tensor<4x3x2x2xf32> -> tensor<2x2x3x4xf32>
// CHECK-NEXT: %[[W:.*]] = graph.reshape %[[V]] : tensor<2x2x3x4xf32> to tensor<12x4x1x1xf32>
// CHECK-NEXT: %[[C:.*]] = graph.conv %arg0, %[[W]] strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_last
// CHECK-NEXT: %[[R:.*]] = graph.reshape %[[C]] : tensor<1x8x9x12xf32> to tensor<8x9x2x2x3xf32>
// CHECK-NEXT: %[[T:.*]] = graph.transpose %[[R]] [0, 2, 1, 3, 4]
// CHECK-NEXT: graph.reshape %[[T]] : tensor<8x2x9x2x3xf32> to tensor<1x16x18x3xf32>
// SIMPLE-LABEL: func.func @upsample
// SIMPLE: %[[T:.*]] = graph.transpose %{{.*}} [0, 2, 1, 3, 4]
// SIMPLE-NEXT: %[[B:.*]] = graph.reshape %arg2 : tensor<1x1x1x3xf32> to tensor<3xf32>
// SIMPLE-NEXT: %[[S:.*]] = graph.add %[[T]], %[[B]]
// SIMPLE-NEXT: graph.reshape %[[S]] : tensor<8x2x9x2x3xf32> to tensor<1x16x18x3xf32>
// SIMPLE-NEXT: return
func.func @upsample(%x: tensor<1x8x9x4xf32>, %w: tensor<4x3x2x2xf32>, %b: tensor<1x1x1x3xf32>) -> tensor<1x16x18x3xf32> {
  %0 = graph.conv_transpose %x, %w strides [2, 2] padding [0, 0, 0, 0] output_padding [0, 0] dilations [1, 1] groups 1 channels_last : tensor<1x8x9x4xf32>, tensor<4x3x2x2xf32> -> tensor<1x16x18x3xf32>
  %1 = graph.add %0, %b : tensor<1x16x18x3xf32>, tensor<1x1x1x3xf32> -> tensor<1x16x18x3xf32>
  return %1 : tensor<1x16x18x3xf32>
}

// -----

// Padding is cut off after taps that are the same for each phase; in
// channels-first layout the phases come before the channels, too.
// CHECK-LABEL: func.func @cut
// CHECK-NEXT: graph.reshape %arg1 : tensor<2x3x4xf32> to tensor<2x3x2x2xf32>
// CHECK-NEXT: graph.transpose %{{.*}} [3, 1, 0, 2]
// CHECK-NEXT: graph.reshape %{{.*}} to tensor<6x2x2xf32>
// CHECK-NEXT: graph.slice %{{.*}} starts [0, 0, 1] sizes [6, 2, 2] steps [1, 1, -1]
// CHECK-NEXT: graph.conv %{{.*}} padding [1, 1] {{.*}} channels_first : tensor<1x2x5xf32>, tensor<6x2x2xf32> -> tensor<1x6x6xf32>
// CHECK-NEXT: graph.reshape %{{.*}} : tensor<1x6x6xf32> to tensor<2x3x6xf32>
// CHECK-NEXT: graph.transpose %{{.*}} [1, 2, 0]
// CHECK-NEXT: graph.reshape %{{.*}} : tensor<3x6x2xf32> to tensor<1x3x12xf32>
// CHECK-NEXT: graph.slice %{{.*}} starts [0, 0, 1] sizes [1, 3, 10] steps [1, 1, 1]
// CHECK-NEXT: return
func.func @cut(%x: tensor<1x2x5xf32>, %w: tensor<2x3x4xf32>) -> tensor<1x3x10xf32> {
  %0 = graph.conv_transpose %x, %w strides [2] padding [1, 1] output_padding [0] dilations [1] groups 1 channels_first : tensor<1x2x5xf32>, tensor<2x3x4xf32> -> tensor<1x3x10xf32>
  return %0 : tensor<1x3x10xf32>
}

// -----

// A tap of zeros in front takes the place of what padding cuts off.
// CHECK-LABEL: func.func @lead
// CHECK: graph.pad %arg1, %{{.*}} low [0, 0, 1] high [0, 0, 0] constant
// CHECK: graph.conv %{{.*}} padding [0, 1] {{.*}} -> tensor<1x5x6xf32>
// CHECK-NOT: graph.slice
// CHECK: return
func.func @lead(%x: tensor<1x5x2xf32>, %w: tensor<2x3x3xf32>) -> tensor<1x10x3xf32> {
  %0 = graph.conv_transpose %x, %w strides [2] padding [1, 1] output_padding [1] dilations [1] groups 1 channels_last : tensor<1x5x2xf32>, tensor<2x3x3xf32> -> tensor<1x10x3xf32>
  return %0 : tensor<1x10x3xf32>
}

// -----

// One phase: dilations stay. Several: zeros lie between the taps.
// CHECK-LABEL: func.func @dilated
// CHECK: graph.pad {{.*}} low [0, 0, 0, 0, 0, 0] high [0, 0, 0, 0, 0, 1]
// CHECK: graph.reshape %{{.*}} to tensor<2x3x3x4xf32>
// CHECK: graph.conv %{{.*}} dilations [2, 1] groups 1
func.func @dilated(%x: tensor<1x5x6x2xf32>, %w: tensor<2x3x3x2xf32>) -> tensor<1x9x13x3xf32> {
  %0 = graph.conv_transpose %x, %w strides [1, 2] padding [0, 0, 0, 0] output_padding [0, 0] dilations [2, 2] groups 1 channels_last : tensor<1x5x6x2xf32>, tensor<2x3x3x2xf32> -> tensor<1x9x13x3xf32>
  return %0 : tensor<1x9x13x3xf32>
}

// -----

// The channels of a group are those of each of its phases.
// CHECK-LABEL: func.func @groups
// CHECK: graph.transpose %{{.*}} [0, 3, 2, 1] : tensor<2x2x3x2xf32> -> tensor<2x2x3x2xf32>
// CHECK: graph.conv %{{.*}} groups 2 channels_last : tensor<1x5x4xf32>, tensor<12x2x1xf32> -> tensor<1x5x12xf32>
// CHECK-NEXT: graph.reshape %{{.*}} : tensor<1x5x12xf32> to tensor<5x2x2x3xf32>
// CHECK-NEXT: graph.transpose %{{.*}} [0, 2, 1, 3]
// CHECK-NEXT: graph.reshape %{{.*}} to tensor<1x10x6xf32>
func.func @groups(%x: tensor<1x5x4xf32>, %w: tensor<4x3x2xf32>) -> tensor<1x10x6xf32> {
  %0 = graph.conv_transpose %x, %w strides [2] padding [0, 0] output_padding [0] dilations [1] groups 2 channels_last : tensor<1x5x4xf32>, tensor<4x3x2xf32> -> tensor<1x10x6xf32>
  return %0 : tensor<1x10x6xf32>
}

// -----

// Padding that cuts off more than a window reaches leaves whole windows out.
// CHECK-LABEL: func.func @far
// CHECK: graph.conv %{{.*}} padding [0, 0] {{.*}} -> tensor<1x5x6xf32>
// CHECK: graph.slice %{{.*}} starts [0, 3, 0] sizes [1, 4, 3] steps [1, 1, 1]
func.func @far(%x: tensor<1x5x2xf32>, %w: tensor<2x3x2xf32>) -> tensor<1x4x3xf32> {
  %0 = graph.conv_transpose %x, %w strides [2] padding [3, 3] output_padding [0] dilations [1] groups 1 channels_last : tensor<1x5x2xf32>, tensor<2x3x2xf32> -> tensor<1x4x3xf32>
  return %0 : tensor<1x4x3xf32>
}

// -----

// Three taps and two phases, as in the gradient of a convolution with strides:
// zeros would be almost half of the work, so that each phase has its own taps.
// CHECK-LABEL: func.func @phases
// CHECK-NEXT: %[[S0:.*]] = graph.slice %arg1 starts [0, 0, 1, 1] sizes [8, 16, 1, 1] steps [1, 1, -2, -2]
// CHECK-NEXT: %[[W0:.*]] = graph.transpose %[[S0]] [1, 0, 2, 3]
// CHECK-NEXT: %[[P0:.*]] = graph.conv %arg0, %[[W0]] strides [1, 1] padding [0, 0, 0, 0]
// CHECK: graph.slice %arg1 starts [0, 0, 1, 2] sizes [8, 16, 1, 2] steps [1, 1, -2, -2]
// CHECK: %[[P1:.*]] = graph.conv {{.*}} padding [0, 0, 0, 1]
// CHECK: graph.slice %arg1 starts [0, 0, 2, 1] sizes [8, 16, 2, 1] steps [1, 1, -2, -2]
// CHECK: %[[P2:.*]] = graph.conv {{.*}} padding [0, 0, 1, 0]
// CHECK: graph.slice %arg1 starts [0, 0, 2, 2] sizes [8, 16, 2, 2] steps [1, 1, -2, -2]
// CHECK: %[[P3:.*]] = graph.conv {{.*}} padding [0, 0, 1, 1]
// CHECK-NEXT: graph.concat %[[P0]], %[[P1]], %[[P2]], %[[P3]] axis 3 : {{.*}} -> tensor<1x5x6x64xf32>
// CHECK-NEXT: graph.reshape
// CHECK-NEXT: graph.transpose %{{.*}} [0, 2, 1, 3, 4]
// CHECK-NEXT: graph.reshape %{{.*}} to tensor<1x10x12x16xf32>
// CHECK-NEXT: return
func.func @phases(%x: tensor<1x5x6x8xf32>, %w: tensor<8x16x3x3xf32>) -> tensor<1x10x12x16xf32> {
  %0 = graph.conv_transpose %x, %w strides [2, 2] padding [1, 1, 1, 1] output_padding [1, 1] dilations [1, 1] groups 1 channels_last : tensor<1x5x6x8xf32>, tensor<8x16x3x3xf32> -> tensor<1x10x12x16xf32>
  return %0 : tensor<1x10x12x16xf32>
}

// -----

// One tap: all phases but one are zeros.
// CHECK-LABEL: func.func @zeros
// CHECK: graph.conv %arg0, %{{.*}} padding [0, 0, 0, 0] {{.*}} -> tensor<1x5x6x16xf32>
// CHECK: graph.reshape %{{.*}} to tensor<1x5x1x6x1x16xf32>
// CHECK: graph.pad %{{.*}} low [0, 0, 0, 0, 0, 0] high [0, 0, 1, 0, 1, 0] constant
// CHECK-NEXT: graph.reshape %{{.*}} to tensor<1x10x12x16xf32>
// CHECK-NEXT: return
func.func @zeros(%x: tensor<1x5x6x8xf32>, %w: tensor<8x16x1x1xf32>) -> tensor<1x10x12x16xf32> {
  %0 = graph.conv_transpose %x, %w strides [2, 2] padding [0, 0, 0, 0] output_padding [1, 1] dilations [1, 1] groups 1 channels_last : tensor<1x5x6x8xf32>, tensor<8x16x1x1xf32> -> tensor<1x10x12x16xf32>
  return %0 : tensor<1x10x12x16xf32>
}
