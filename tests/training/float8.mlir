// Floats of 8 bits are no weights that are trained, but constants; others are
// trained beside them.
// RUN: graph-compile %s --train --loss=mse --optimizer=sgd --emit=differentiated | FileCheck %s

// CHECK: graph.variable "w" = {{.*}} trainable
// CHECK-NOT: graph.variable "q"
// CHECK: func.func @train_step(
// CHECK: graph.dequantize %{{.*}} : tensor<8x8xf8E4M3FN>, tensor<f32> -> tensor<8x8xf32>
func.func @main(%x: tensor<4x8xf32> {graph.name = "x"}) -> (tensor<4x3xf32> {graph.name = "y"}) {
  %q = graph.constant dense<1.5> : tensor<8x8xf8E4M3FN> loc("q")
  %s = graph.constant dense<0.5> : tensor<f32>
  %w = graph.constant dense<0.25> : tensor<8x3xf32> loc("w")
  %d = graph.dequantize %q scale %s : tensor<8x8xf8E4M3FN>, tensor<f32> -> tensor<8x8xf32>
  %h = graph.matmul %x, %d : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %y = graph.matmul %h, %w : tensor<4x8xf32>, tensor<8x3xf32> -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}
