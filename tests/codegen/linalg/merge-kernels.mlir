// RUN: graph-opt %s --merge-kernels | FileCheck %s

// Functions that differ in their names alone become one; @other_0 differs in a
// constant, @unused is no kernel.

// CHECK-LABEL: func.func @main(
// CHECK: graph.dispatch @scale_0
// CHECK: graph.dispatch @scale_0
// CHECK: graph.dispatch @other_0
// CHECK: func.func private @scale_0
// CHECK-NOT: @scale_1
// CHECK: func.func private @other_0
// CHECK: func.func private @unused
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = graph.dispatch @scale_0(%x) : (tensor<f32>) -> tensor<f32>
  %1 = graph.dispatch @scale_1(%0) : (tensor<f32>) -> tensor<f32>
  %2 = graph.dispatch @other_0(%1) : (tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}
func.func private @scale_0(%x: tensor<f32>) -> tensor<f32> {
  %c = arith.constant 2.0 : f32
  %0 = tensor.empty() : tensor<f32>
  %1 = linalg.fill ins(%c : f32) outs(%0 : tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
func.func private @scale_1(%y: tensor<f32>) -> tensor<f32> {
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%two : f32) outs(%e : tensor<f32>) -> tensor<f32>
  return %f : tensor<f32>
}
func.func private @other_0(%x: tensor<f32>) -> tensor<f32> {
  %c = arith.constant 3.0 : f32
  %0 = tensor.empty() : tensor<f32>
  %1 = linalg.fill ins(%c : f32) outs(%0 : tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
func.func private @unused(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
