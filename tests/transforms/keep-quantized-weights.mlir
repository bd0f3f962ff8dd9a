// RUN: graph-opt %s --split-input-file --keep-quantized-weights | FileCheck %s
// RUN: graph-opt %s --split-input-file --keep-quantized-weights --form-kernels | FileCheck %s --check-prefix=KERNEL

// Columns come last, in the integers and in the scales of blocks, and the
// product dequantises.
// CHECK-LABEL: func.func @blocks
// CHECK:         %[[W:.*]] = graph.transpose %{{.*}} : tensor<16x2x8xi8> -> tensor<2x8x16xi8>
// CHECK:         %[[S:.*]] = graph.transpose %{{.*}} : tensor<16x2x1xf32> -> tensor<2x1x16xf32>
// CHECK:         %[[D:.*]] = graph.dequantize %[[W]] scale %[[S]]
// CHECK:         %[[R:.*]] = graph.reshape %[[D]] : tensor<2x8x16xf32> to tensor<16x16xf32>
// CHECK:         graph.matmul %arg0, %[[R]] : tensor<1x16xf32>, tensor<16x16xf32>
// KERNEL-LABEL: func.func @blocks
// KERNEL:        graph.kernel
// KERNEL:        graph.transpose
// KERNEL:        graph.kernel ({{.*}}) : (tensor<2x8x16xi8>, tensor<2x1x16xf32>, tensor<1x16xf32>)
// KERNEL-NEXT:     graph.dequantize
// KERNEL-NEXT:     graph.reshape
// KERNEL-NEXT:     graph.matmul
func.func @blocks(%x: tensor<1x16xf32>) -> tensor<1x16xf32> {
  %q = graph.constant #graph.external<"w", 0, 256> : tensor<16x2x8xi8>
  %s = graph.constant #graph.external<"w", 256, 128> : tensor<16x2x1xf32>
  %0 = graph.dequantize %q scale %s : tensor<16x2x8xi8>, tensor<16x2x1xf32> -> tensor<16x2x8xf32>
  %1 = graph.reshape %0 : tensor<16x2x8xf32> to tensor<16x16xf32>
  %y = graph.matmul %x, %1 transpose_b : tensor<1x16xf32>, tensor<16x16xf32> -> tensor<1x16xf32>
  return %y : tensor<1x16xf32>
}

// -----

// One scale becomes one for each column; numbers of 4 bits that lie along the
// columns are packed along the depth.
// CHECK-LABEL: func.func @int4
// CHECK-DAG:     %[[EVEN:.*]] = graph.slice %{{.*}} starts [0, 0] sizes [4, 16] steps [2, 1]
// CHECK-DAG:     %[[ODD:.*]] = graph.slice %{{.*}} starts [1, 0] sizes [4, 16] steps [2, 1]
// CHECK:         %[[BYTES:.*]] = graph.or
// CHECK:         %[[Q:.*]] = graph.unpack_int4 %[[BYTES]] axis 0 : tensor<4x16xui8> -> tensor<8x16xi8>
// CHECK:         %[[S:.*]] = graph.broadcast %{{.*}} to tensor<1x16xf32>
// CHECK:         %[[D:.*]] = graph.dequantize %[[Q]] scale %[[S]]
// CHECK-NEXT:    graph.matmul %arg0, %[[D]]
// KERNEL-LABEL: func.func @int4
// KERNEL:        graph.kernel ({{.*}}) : (tensor<4x16xui8>, tensor<1x16xf32>, tensor<1x8xf32>)
// KERNEL-NEXT:     graph.unpack_int4
// KERNEL-NEXT:     graph.dequantize
// KERNEL-NEXT:     graph.matmul
func.func @int4(%x: tensor<1x8xf32>) -> tensor<1x16xf32> {
  %b = graph.constant #graph.external<"w", 0, 64> : tensor<8x8xui8>
  %s = graph.constant dense<0.5> : tensor<f32>
  %q = graph.unpack_int4 %b axis 1 : tensor<8x8xui8> -> tensor<8x16xi8>
  %0 = graph.dequantize %q scale %s : tensor<8x16xi8>, tensor<f32> -> tensor<8x16xf32>
  %y = graph.matmul %x, %0 : tensor<1x8xf32>, tensor<8x16xf32> -> tensor<1x16xf32>
  return %y : tensor<1x16xf32>
}

// -----

// Left alone: scales along the depth, a depth that is no whole words, and
// weights that a run computes.
// KERNEL-LABEL: func.func @others
// KERNEL-COUNT-3: graph.kernel ({{.*}}, {{.*}}) : (tensor<1x{{[68]}}xf32>, tensor<{{[68]}}x16xf32>)
// CHECK-LABEL: func.func @others
// CHECK-NOT:     graph.broadcast
func.func @others(%x: tensor<1x6xf32>, %y: tensor<1x8xf32>, %v: tensor<8x16xi8>) -> (tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>) {
  %q = graph.constant #graph.external<"w", 0, 96> : tensor<6x16xi8>
  %p = graph.constant #graph.external<"w", 0, 128> : tensor<8x16xi8>
  %s = graph.constant dense<0.5> : tensor<f32>
  %t = graph.constant dense<[[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0]]> : tensor<8x1xf32>
  %0 = graph.dequantize %q scale %s : tensor<6x16xi8>, tensor<f32> -> tensor<6x16xf32>
  %1 = graph.dequantize %p scale %t : tensor<8x16xi8>, tensor<8x1xf32> -> tensor<8x16xf32>
  %2 = graph.dequantize %v scale %s : tensor<8x16xi8>, tensor<f32> -> tensor<8x16xf32>
  %3 = graph.matmul %x, %0 : tensor<1x6xf32>, tensor<6x16xf32> -> tensor<1x16xf32>
  %4 = graph.matmul %y, %1 : tensor<1x8xf32>, tensor<8x16xf32> -> tensor<1x16xf32>
  %5 = graph.matmul %y, %2 : tensor<1x8xf32>, tensor<8x16xf32> -> tensor<1x16xf32>
  return %3, %4, %5 : tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>
}

// -----

// Floats of 8 bits stay bytes, too, if they have no zero point but 0.
// CHECK-LABEL: func.func @float8
// CHECK:         graph.dequantize %{{.*}} scale %{{.*}} zero_point %{{.*}} : tensor<16x16xf8E5M2>, tensor<1x16xf32>, tensor<f8E5M2>
// CHECK-NEXT:    graph.matmul
// KERNEL-LABEL: func.func @float8
// KERNEL:        graph.kernel
// KERNEL:          graph.dequantize
// KERNEL-NEXT:     graph.matmul
func.func @float8(%x: tensor<1x16xf32>) -> tensor<1x16xf32> {
  %q = graph.constant #graph.external<"w", 0, 256> : tensor<16x16xf8E5M2>
  %s = graph.constant #graph.external<"w", 256, 4> : tensor<f32>
  %z = graph.constant dense<0.0> : tensor<f8E5M2>
  %0 = graph.dequantize %q scale %s zero_point %z : tensor<16x16xf8E5M2>, tensor<f32>, tensor<f8E5M2> -> tensor<16x16xf32>
  %y = graph.matmul %x, %0 : tensor<1x16xf32>, tensor<16x16xf32> -> tensor<1x16xf32>
  return %y : tensor<1x16xf32>
}

// -----

// CHECK-LABEL: func.func @float8_with_zero_point
// CHECK:         graph.dequantize %{{.*}} scale %{{.*}} zero_point %{{.*}} : tensor<16x16xf8E5M2>, tensor<f32>, tensor<f8E5M2>
func.func @float8_with_zero_point(%x: tensor<1x16xf32>) -> tensor<1x16xf32> {
  %q = graph.constant #graph.external<"w", 0, 256> : tensor<16x16xf8E5M2>
  %s = graph.constant #graph.external<"w", 256, 4> : tensor<f32>
  %z = graph.constant dense<1.5> : tensor<f8E5M2>
  %0 = graph.dequantize %q scale %s zero_point %z : tensor<16x16xf8E5M2>, tensor<f32>, tensor<f8E5M2> -> tensor<16x16xf32>
  %y = graph.matmul %x, %0 : tensor<1x16xf32>, tensor<16x16xf32> -> tensor<1x16xf32>
  return %y : tensor<1x16xf32>
}
