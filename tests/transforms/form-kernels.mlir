// RUN: graph-opt %s --split-input-file --form-kernels | FileCheck %s
// RUN: graph-opt %s --split-input-file --form-kernels=fuse=false | FileCheck %s --check-prefix=SINGLE

// Bias, activation and residual join the later of two products.
// CHECK-LABEL: func.func @residual
// CHECK: %[[A:.*]] = graph.kernel
// CHECK-NEXT: graph.matmul
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.yield
// CHECK: %[[B:.*]] = graph.kernel ({{.*}} = %[[A]], {{.*}})
// CHECK-NEXT: graph.matmul
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.relu
// CHECK-NEXT: graph.yield
// CHECK: return %[[B]]
// SINGLE-LABEL: func.func @residual
// SINGLE-COUNT-6: graph.kernel
// SINGLE: return
func.func @residual(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = graph.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = graph.add %0, %b : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
  %2 = graph.matmul %1, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %3 = graph.add %2, %b : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
  %4 = graph.add %3, %1 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %5 = graph.relu %4 : tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}

// -----

// A value that is read twice inside is fused; one that is read outside ends
// the kernel.
// CHECK-LABEL: func.func @twice
// CHECK: %[[Y:.*]] = graph.kernel
// CHECK-NEXT: graph.matmul
// CHECK-NEXT: graph.sigmoid
// CHECK-NEXT: graph.mul
// CHECK-NEXT: graph.yield
// CHECK: graph.kernel ({{.*}} = %[[Y]])
// CHECK-NEXT: graph.exp
func.func @twice(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = graph.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = graph.sigmoid %0 : tensor<4x8xf32>
  %2 = graph.mul %0, %1 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %3 = graph.exp %2 : tensor<4x8xf32>
  return %2, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Cheap ops go before a 1x1 convolution, the concatenation does not.
// CHECK-LABEL: func.func @before
// CHECK: graph.kernel
// CHECK-NEXT: graph.concat
// CHECK-NEXT: graph.yield
// CHECK: graph.kernel
// CHECK-NEXT: graph.mul
// CHECK-NEXT: graph.relu
// CHECK-NEXT: graph.conv
// CHECK-NEXT: graph.relu
// CHECK-NEXT: graph.yield
// CHECK-NOT: graph.kernel
func.func @before(%x: tensor<1x8x8x4xf32>, %s: tensor<8xf32>, %w: tensor<16x8x1x1xf32>) -> tensor<1x8x8x16xf32> {
  %0 = graph.concat %x, %x axis 3 : (tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>) -> tensor<1x8x8x8xf32>
  %1 = graph.mul %0, %s : tensor<1x8x8x8xf32>, tensor<8xf32> -> tensor<1x8x8x8xf32>
  %2 = graph.relu %1 : tensor<1x8x8x8xf32>
  %3 = graph.conv %2, %w strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_last : tensor<1x8x8x8xf32>, tensor<16x8x1x1xf32> -> tensor<1x8x8x16xf32>
  %4 = graph.relu %3 : tensor<1x8x8x16xf32>
  return %4 : tensor<1x8x8x16xf32>
}

// -----

// What depends on constants alone has its own kernel, single values are cloned,
// reshapes stay outside.
// CHECK-LABEL: func.func @constants
// CHECK-DAG: %[[C:.*]] = graph.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK: %[[E:.*]] = graph.kernel (%{{.*}} = %[[C]])
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.yield
// CHECK: %[[K:.*]] = graph.kernel ({{.*}} = %[[E]])
// CHECK-NEXT: graph.constant dense<5.000000e-01>
// CHECK-NEXT: graph.mul
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.yield
// CHECK: graph.reshape %[[K]]
func.func @constants(%x: tensor<3x2xf32>) -> tensor<6xf32> {
  %c = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %h = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.exp %c : tensor<2xf32>
  %1 = graph.mul %x, %h : tensor<3x2xf32>, tensor<f32> -> tensor<3x2xf32>
  %2 = graph.add %1, %0 : tensor<3x2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  %3 = graph.reshape %2 : tensor<3x2xf32> to tensor<6xf32>
  return %3 : tensor<6xf32>
}

// -----

// Transposes around attention are index maps.
// CHECK-LABEL: func.func @attention
// CHECK: graph.kernel
// CHECK-NEXT: graph.transpose
// CHECK-NEXT: graph.attention
// CHECK-NEXT: graph.transpose
// CHECK-NEXT: graph.yield
// CHECK-NOT: graph.kernel
func.func @attention(%q: tensor<1x6x2x4xf32>, %k: tensor<1x2x6x4xf32>, %v: tensor<1x2x6x4xf32>) -> tensor<1x6x8xf32> {
  %0 = graph.transpose %q [0, 2, 1, 3] : tensor<1x6x2x4xf32> -> tensor<1x2x6x4xf32>
  %1 = graph.attention %0, %k, %v scale 5.000000e-01 : tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>
  %2 = graph.transpose %1 [0, 2, 1, 3] : tensor<1x2x6x4xf32> -> tensor<1x6x2x4xf32>
  %3 = graph.reshape %2 : tensor<1x6x2x4xf32> to tensor<1x6x8xf32>
  return %3 : tensor<1x6x8xf32>
}

// -----

// The second product depends on the first one's result by way of the branch:
// the addition cannot be in the first one's kernel.
// CHECK-LABEL: func.func @acyclic
// CHECK: graph.kernel
// CHECK-NEXT: graph.matmul
// CHECK-NEXT: graph.yield
// CHECK: graph.kernel
// CHECK-NEXT: graph.softmax
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.yield
func.func @acyclic(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = graph.softmax %0 axis 1 : tensor<4x8xf32>
  %2 = graph.add %0, %1 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
