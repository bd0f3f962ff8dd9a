// RUN: graph-opt %s --split-input-file --fold-batch-norm --fold-constants | FileCheck %s

// CHECK-LABEL: func.func @conv
// CHECK-DAG: %[[W:.*]] = graph.constant #graph.external<"w.bin", 0, 288>
// CHECK-DAG: %[[S:.*]] = graph.constant dense<{{.*}}2.000000e+00{{.*}}4.000000e+00{{.*}}> : tensor<2x1x1x1xf32>
// CHECK-DAG: %[[V:.*]] = graph.mul %[[W]], %[[S]]
// CHECK-DAG: %[[Y:.*]] = graph.conv %{{.*}}, %[[V]]
// CHECK: %[[B:.*]] = graph.constant dense<{{.*}}-1.000000e+00{{.*}}-3.000000e+00{{.*}}> : tensor<2x1x1xf32>
// CHECK: graph.add %[[Y]], %[[B]]
// CHECK-NOT: graph.batch_norm
func.func @conv(%x: tensor<1x4x8x8xf32>) -> tensor<1x2x6x6xf32> {
  %w = graph.constant #graph.external<"w.bin", 0, 288> : tensor<2x4x3x3xf32>
  %scale = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %bias = graph.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %mean = graph.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %variance = graph.constant dense<[0.125, 0.125]> : tensor<2xf32>
  %0 = graph.conv %x, %w strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_first : tensor<1x4x8x8xf32>, tensor<2x4x3x3xf32> -> tensor<1x2x6x6xf32>
  %1 = graph.batch_norm %0, %scale, %bias, %mean, %variance epsilon 1.250000e-01 channels_first : tensor<1x2x6x6xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  return %1 : tensor<1x2x6x6xf32>
}

// -----

// With a bias in between, and after a matrix product with a transposed weight.
// CHECK-LABEL: func.func @matmul
// CHECK-DAG: %[[B:.*]] = graph.constant dense<[3.000000e+00, 8.000000e+00]>
// CHECK-DAG: %[[S:.*]] = graph.constant dense<{{.*}}3.000000e+00{{.*}}4.000000e+00{{.*}}> : tensor<2x1xf32>
// CHECK: %[[V:.*]] = graph.mul %{{.*}}, %[[S]]
// CHECK: graph.matmul %{{.*}}, %[[V]] transpose_b
// CHECK-NEXT: graph.add %{{.*}}, %[[B]]
// CHECK-NEXT: return
func.func @matmul(%x: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %w = graph.constant #graph.external<"w.bin", 0, 32> : tensor<2x4xf32>
  %b = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %s = graph.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %0 = graph.matmul %x, %w transpose_b : tensor<3x4xf32>, tensor<2x4xf32> -> tensor<3x2xf32>
  %1 = graph.add %0, %b : tensor<3x2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  %2 = graph.mul %1, %s : tensor<3x2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}

// -----

// No contraction before it, or one whose result is read elsewhere: a
// multiplication and an addition.
// CHECK-LABEL: func.func @alone
// CHECK: graph.mul %arg0
// CHECK: graph.add
// CHECK-NOT: graph.batch_norm
func.func @alone(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %c = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = graph.batch_norm %x, %c, %c, %c, %c epsilon 1.000000e+00 channels_first : tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  return %1 : tensor<1x2x4x4xf32>
}

// -----

// Statistics that are not constant are computed with.
// CHECK-LABEL: func.func @given
// CHECK: graph.conv %arg0, %arg1
// CHECK: graph.sqrt
// CHECK: graph.mul
// CHECK: graph.add
func.func @given(%x: tensor<1x4x8x8xf32>, %w: tensor<2x4x3x3xf32>, %p: tensor<2xf32>) -> tensor<1x2x6x6xf32> {
  %0 = graph.conv %x, %w strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_first : tensor<1x4x8x8xf32>, tensor<2x4x3x3xf32> -> tensor<1x2x6x6xf32>
  %1 = graph.batch_norm %0, %p, %p, %p, %p epsilon 1.250000e-01 channels_first : tensor<1x2x6x6xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  return %1 : tensor<1x2x6x6xf32>
}

// -----

// In a body the weights are scaled; a product before the loop stays there.
// CHECK-LABEL: func.func @bodies
// CHECK: %[[ONCE:.*]] = graph.matmul %arg0, %{{.*}} :
// CHECK: graph.scan
// CHECK: %[[W:.*]] = graph.mul %{{.*}} : tensor<4x4xf32>
// CHECK-NEXT: %[[P:.*]] = graph.matmul %{{.*}}, %[[W]]
// CHECK-NEXT: %[[Q:.*]] = graph.mul %[[ONCE]],
// CHECK-NEXT: graph.add %[[P]], %[[Q]]
func.func @bodies(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = graph.constant #graph.external<"w.bin", 0, 64> : tensor<4x4xf32>
  %s = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = graph.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %1 = graph.scan %i length 3 carry (%a = %x) : (tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    %2 = graph.matmul %a, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    %3 = graph.mul %2, %s : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xf32>
    %4 = graph.mul %0, %s : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xf32>
    %5 = graph.add %3, %4 : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    graph.yield %5 : tensor<2x4xf32>
  }
  return %1 : tensor<2x4xf32>
}
