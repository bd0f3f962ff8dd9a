// RUN: graph-opt %s --split-input-file --quantize-products --fold-constants | FileCheck %s

// The zero point's term is a constant, and the scales follow the sums.
// CHECK-LABEL: func.func @matmul
// CHECK-DAG:   %[[W:.*]] = graph.constant dense<{{\[}}[1, -2], [3, 4]]> : tensor<2x2xi8>
// CHECK-DAG:   %[[TERM:.*]] = graph.constant dense<{{\[}}[20, 10]]> : tensor<1x2xi32>
// CHECK-DAG:   %[[SCALE:.*]] = graph.constant dense<{{\[}}[1.000000e+00, 2.000000e+00]]> : tensor<1x2xf32>
// CHECK-DAG:   %[[SUMS:.*]] = graph.matmul %arg0, %[[W]] : tensor<3x2xui8>, tensor<2x2xi8> -> tensor<3x2xi32>
// CHECK-DAG:   %[[C:.*]] = graph.sub %[[SUMS]], %[[TERM]]
// CHECK:       graph.dequantize %[[C]] scale %[[SCALE]]
func.func @matmul(%q: tensor<3x2xui8>) -> tensor<3x2xf32> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %z = graph.constant dense<5> : tensor<ui8>
  %w = graph.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>
  %t = graph.constant dense<[[2.0, 4.0]]> : tensor<1x2xf32>
  %0 = graph.dequantize %q scale %s zero_point %z : tensor<3x2xui8>, tensor<f32>, tensor<ui8> -> tensor<3x2xf32>
  %1 = graph.dequantize %w scale %t : tensor<2x2xi8>, tensor<1x2xf32> -> tensor<2x2xf32>
  %2 = graph.matmul %0, %1 : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}

// -----

// A convolution is padded with the zero point. What quantises signed bytes
// quantises unsigned ones.
// CHECK-LABEL: func.func @conv
// CHECK:       %[[Z:.*]] = graph.constant dense<125> : tensor<ui8>
// CHECK-NEXT:  %[[Q:.*]] = graph.quantize %arg0 scale %{{.*}} zero_point %[[Z]] {{.*}} -> tensor<1x2x4xui8>
// CHECK:       graph.conv %[[Q]], %{{.*}} padding [1, 1] padding_value 125 {{.*}} : tensor<1x2x4xui8>, tensor<2x2x3xi8> -> tensor<1x2x4xi32>
func.func @conv(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %z = graph.constant dense<-3> : tensor<i8>
  %w = graph.constant dense<1> : tensor<2x2x3xi8>
  %q = graph.quantize %x scale %s zero_point %z : tensor<1x2x4xf32>, tensor<f32>, tensor<i8> -> tensor<1x2x4xi8>
  %0 = graph.dequantize %q scale %s zero_point %z : tensor<1x2x4xi8>, tensor<f32>, tensor<i8> -> tensor<1x2x4xf32>
  %1 = graph.dequantize %w scale %s : tensor<2x2x3xi8>, tensor<f32> -> tensor<2x2x3xf32>
  %2 = graph.conv %0, %1 strides [1] padding [1, 1] dilations [1] groups 1 channels_first
      : tensor<1x2x4xf32>, tensor<2x2x3xf32> -> tensor<1x2x4xf32>
  return %2 : tensor<1x2x4xf32>
}

// -----

// MatMulInteger: bytes as i32, less their zero points. Both terms, and their product.
// CHECK-LABEL: func.func @integers
// CHECK:       graph.matmul %{{.*}}, %{{.*}} : tensor<3x4xui8>, tensor<4x2xi8> -> tensor<3x2xi32>
// CHECK:       graph.reduce sum
// CHECK:       graph.reduce sum
// CHECK-NOT:   graph.dequantize
func.func @integers(%a: tensor<3x4xui8>, %b: tensor<4x2xui8>, %y: tensor<ui8>, %z: tensor<ui8>) -> tensor<3x2xi32> {
  %0 = graph.cast %a : tensor<3x4xui8> to tensor<3x4xi32>
  %1 = graph.cast %y : tensor<ui8> to tensor<i32>
  %2 = graph.sub %0, %1 : tensor<3x4xi32>, tensor<i32> -> tensor<3x4xi32>
  %3 = graph.cast %b : tensor<4x2xui8> to tensor<4x2xi32>
  %4 = graph.cast %z : tensor<ui8> to tensor<i32>
  %5 = graph.sub %3, %4 : tensor<4x2xi32>, tensor<i32> -> tensor<4x2xi32>
  %6 = graph.matmul %2, %5 : tensor<3x4xi32>, tensor<4x2xi32> -> tensor<3x2xi32>
  return %6 : tensor<3x2xi32>
}

// -----

// A scale for each element of what is summed over.
// CHECK-LABEL: func.func @along_depth
// CHECK:       graph.matmul {{.*}} : tensor<3x2xf32>, tensor<2x2xf32>
func.func @along_depth(%q: tensor<3x2xui8>, %w: tensor<2x2xi8>) -> tensor<3x2xf32> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %t = graph.constant dense<[[2.0], [4.0]]> : tensor<2x1xf32>
  %0 = graph.dequantize %q scale %s : tensor<3x2xui8>, tensor<f32> -> tensor<3x2xf32>
  %1 = graph.dequantize %w scale %t : tensor<2x2xi8>, tensor<2x1xf32> -> tensor<2x2xf32>
  %2 = graph.matmul %0, %1 : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}

// -----

// Models for GPUs multiply the same bytes.
// CHECK-LABEL: module attributes {graph.cuda
// CHECK:       graph.matmul %arg0, %arg1 : tensor<3x2xui8>, tensor<2x2xi8> -> tensor<3x2xi32>
module attributes {graph.cuda = ["sm_90"]} {
  func.func @main(%q: tensor<3x2xui8>, %w: tensor<2x2xi8>) -> tensor<3x2xf32> {
    %s = graph.constant dense<0.5> : tensor<f32>
    %0 = graph.dequantize %q scale %s : tensor<3x2xui8>, tensor<f32> -> tensor<3x2xf32>
    %1 = graph.dequantize %w scale %s : tensor<2x2xi8>, tensor<f32> -> tensor<2x2xf32>
    %2 = graph.matmul %0, %1 : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
    return %2 : tensor<3x2xf32>
  }
}
