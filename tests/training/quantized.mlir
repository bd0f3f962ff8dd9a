// What is quantised and dequantised at once passes gradients in train_step alone,
// and is a product of bytes in the end.
// RUN: graph-compile %s --train --loss=mse --optimizer=sgd --emit=differentiated | FileCheck %s
// RUN: graph-compile %s --train --loss=mse --optimizer=sgd --learn-scales --emit=differentiated | FileCheck %s --check-prefix=LEARN
// RUN: graph-compile %s --train --loss=mse --optimizer=sgd --emit=optimised | FileCheck %s --check-prefix=BYTES

// CHECK: graph.variable "w" = {{.*}} trainable
// CHECK-NOT: trainable
// CHECK: func.func @train_step(
// The gradient of x is asked for by no one; of w it is dy within the range.
// CHECK: graph.custom_gradient
// CHECK: graph.custom_gradient
// CHECK-NEXT: ^bb0(%[[W:.*]]: tensor<3x2xf32> {{.*}}, %[[S:.*]]: tensor<1x2xf32>
// CHECK-NEXT: %[[Q:.*]] = graph.quantize %[[W]] scale %[[S]]
// CHECK-NEXT: graph.dequantize %[[Q]] scale %[[S]]
// CHECK: } gradient {
// CHECK: graph.compare equal
// CHECK: func.func @evaluate(
// CHECK-NOT: graph.custom_gradient

// LEARN-DAG: graph.variable "w" = {{.*}} trainable
// LEARN-DAG: graph.variable "x_scale" = {{.*}}tensor<f32> trainable
// LEARN-DAG: graph.variable "w_scale" = {{.*}}tensor<1x2xf32> trainable
// A step halves a scale at most.
// LEARN: func.func @train_step(
// LEARN: graph.max
// LEARN: graph.max

// BYTES: func.func @train_step(
// BYTES-NOT: graph.custom_gradient
// BYTES: graph.matmul {{.*}} : tensor<4x3xui8>, tensor<3x2xi8> -> tensor<4x2xi32>
// BYTES: func.func @predict(
// BYTES: graph.matmul {{.*}} : tensor<4x3xui8>, tensor<3x2xi8> -> tensor<4x2xi32>
func.func @main(%x: tensor<4x3xf32> {graph.name = "x"}) -> (tensor<4x2xf32> {graph.name = "y"}) {
  %w = graph.constant dense<[[1.0, -1.0], [0.5, 2.0], [-0.25, 3.0]]> : tensor<3x2xf32> loc("w")
  %s = graph.constant dense<0.05> : tensor<f32> loc("x_scale")
  %z = graph.constant dense<128> : tensor<ui8>
  %t = graph.constant dense<[[0.01, 0.02]]> : tensor<1x2xf32> loc("w_scale")
  %0 = graph.quantize %x scale %s zero_point %z : tensor<4x3xf32>, tensor<f32>, tensor<ui8> -> tensor<4x3xui8>
  %1 = graph.dequantize %0 scale %s zero_point %z : tensor<4x3xui8>, tensor<f32>, tensor<ui8> -> tensor<4x3xf32>
  %2 = graph.quantize %w scale %t : tensor<3x2xf32>, tensor<1x2xf32> -> tensor<3x2xi8>
  %3 = graph.dequantize %2 scale %t : tensor<3x2xi8>, tensor<1x2xf32> -> tensor<3x2xf32>
  %4 = graph.matmul %1, %3 : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  return %4 : tensor<4x2xf32>
}
