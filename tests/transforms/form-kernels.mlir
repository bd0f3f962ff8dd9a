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

// What is concatenated with the result of a convolution has a kernel of its own,
// which writes its part; with an input of the model it has none.
// CHECK-LABEL: func.func @parts
// CHECK: graph.kernel
// CHECK-NEXT: graph.conv
// CHECK: graph.kernel
// CHECK-NEXT: graph.relu
// CHECK-NEXT: graph.yield
// CHECK: graph.kernel
// CHECK-NEXT: graph.concat
// CHECK: graph.kernel
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.concat
func.func @parts(%x: tensor<1x8x8x4xf32>, %w: tensor<4x4x1x1xf32>) -> (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) {
  %0 = graph.conv %x, %w strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_last : tensor<1x8x8x4xf32>, tensor<4x4x1x1xf32> -> tensor<1x8x8x4xf32>
  %1 = graph.relu %x : tensor<1x8x8x4xf32>
  %2 = graph.concat %0, %1 axis 3 : (tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>) -> tensor<1x8x8x8xf32>
  %3 = graph.exp %x : tensor<1x8x8x4xf32>
  %4 = graph.concat %x, %3 axis 3 : (tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>) -> tensor<1x8x8x8xf32>
  return %2, %4 : tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>
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

// -----

// Kernels lie within a block: the activation of a product that a branch reads is
// not in the product's kernel. Conditions are kernels, constants are cloned from
// above, and what depends on constants alone shares no kernel with others.
// CHECK-LABEL: func.func @bodies
// CHECK: %[[P:.*]] = graph.kernel
// CHECK-NEXT: graph.matmul
// CHECK-NEXT: graph.yield
// CHECK: %[[C:.*]] = graph.kernel
// CHECK-NEXT: graph.constant
// CHECK-NEXT: graph.reduce max
// CHECK-NEXT: graph.compare less
// CHECK-NEXT: graph.yield
// CHECK: %[[Y:.*]] = graph.if %[[C]]
// CHECK-NEXT: graph.kernel (%{{.*}} = %[[P]])
// CHECK-NEXT: graph.relu
// CHECK-NEXT: graph.neg
// CHECK-NEXT: graph.yield
// CHECK: } else {
// CHECK-NEXT: %[[W:.*]] = graph.kernel (%{{.*}} = %[[V:.*]])
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.yield
// CHECK: graph.kernel (%{{.*}} = %[[P]], %{{.*}} = %[[W]])
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.yield
// CHECK: graph.while (%{{.*}} = %[[Y]])
// CHECK-NEXT: graph.kernel
// CHECK: graph.condition
// CHECK: graph.kernel
// CHECK: graph.yield
func.func @bodies(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %one = graph.constant dense<1.0> : tensor<f32>
  %v = graph.constant #graph.external<"w.bin", 0, 32> : tensor<8xf32>
  %0 = graph.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = graph.reduce max %x axes [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %2 = graph.compare less %1, %one : tensor<f32>, tensor<f32> -> tensor<i1>
  %3 = graph.if %2 : (tensor<4x8xf32>) {
    %5 = graph.relu %0 : tensor<4x8xf32>
    %6 = graph.neg %5 : tensor<4x8xf32>
    graph.yield %6 : tensor<4x8xf32>
  } else {
    %5 = graph.exp %v : tensor<8xf32>
    %6 = graph.add %0, %5 : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
    graph.yield %6 : tensor<4x8xf32>
  }
  %4 = graph.while (%a = %3) : (tensor<4x8xf32>) {
    %5 = graph.reduce max %a axes [0, 1] : tensor<4x8xf32> -> tensor<f32>
    %6 = graph.compare less %5, %one : tensor<f32>, tensor<f32> -> tensor<i1>
    graph.condition %6
  } do (%a) {
    %5 = graph.add %a, %one : tensor<4x8xf32>, tensor<f32> -> tensor<4x8xf32>
    graph.yield %5 : tensor<4x8xf32>
  }
  return %4 : tensor<4x8xf32>
}

// -----

// The addition depends on the first product by way of the loop, whose body reads
// it: it cannot be in the product's kernel.
// CHECK-LABEL: func.func @acyclic_loop
// CHECK: graph.kernel
// CHECK-NEXT: graph.matmul
// CHECK-NEXT: graph.yield
// CHECK: graph.scan
// CHECK: graph.kernel
// CHECK-NEXT: graph.mul
// CHECK: graph.kernel
// CHECK-NEXT: graph.add
func.func @acyclic_loop(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = graph.scan %i length 3 carry (%a = %x) : (tensor<4x8xf32>) -> (tensor<4x8xf32>) {
    %3 = graph.mul %a, %0 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    graph.yield %3 : tensor<4x8xf32>
  }
  %2 = graph.add %0, %1 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// A product's kernel goes through its operands forwards: rows in reverse order are
// a kernel of their own.
// CHECK-LABEL: func.func @reversed_operand
// CHECK: graph.kernel
// CHECK-NEXT: graph.slice
// CHECK-NEXT: graph.yield
// CHECK: graph.kernel
// CHECK-NEXT: graph.matmul
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.yield
func.func @reversed_operand(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = graph.slice %c starts [3, 0] sizes [4, 8] steps [-1, 1] : tensor<4x8xf32> -> tensor<4x8xf32>
  %2 = graph.add %0, %1 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
