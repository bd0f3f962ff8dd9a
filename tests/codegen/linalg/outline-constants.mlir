// RUN: graph-opt %s --split-input-file --outline-constants --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// What is computed from constants moves; equal constants and computations are
// one; names come from locations.

// CHECK-LABEL: func.func @init(
// CHECK-SAME: %[[W:.*]]: tensor<2x3xf32> {graph.source = dense<1.000000e+00> : tensor<2x3xf32>}
// CHECK-SAME: %[[B:.*]]: tensor<3xf32> {graph.source = #graph.external<"model.onnx", 64, 12> : tensor<3xf32>}
// CHECK-SAME: -> (tensor<3x2xf32> {graph.name = "conv1.weight.transpose"}, tensor<3xf32> {graph.name = "w1"})
// CHECK: %[[T:.*]] = graph.dispatch @transpose_0(%[[W]])
// CHECK-NOT: graph.dispatch
// CHECK: return %[[T]], %[[B]]
// CHECK-LABEL: func.func @main(
// CHECK-NOT: graph.constant
// CHECK-DAG: %[[WT:.*]] = graph.weight "conv1.weight.transpose" : tensor<3x2xf32>
// CHECK-DAG: %[[WB:.*]] = graph.weight "w1" : tensor<3xf32>
// CHECK: graph.dispatch @use_0(%{{.*}}, %[[WT]], %[[WB]])
// CHECK: graph.dispatch @use_0(%{{.*}}, %[[WT]], %[[WB]])
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = graph.constant dense<1.0> : tensor<2x3xf32> loc("conv1.weight")
  %1 = graph.constant dense<1.0> : tensor<2x3xf32> loc("conv2.weight")
  %2 = graph.constant #graph.external<"model.onnx", 64, 12> : tensor<3xf32>
  %3 = graph.dispatch @transpose_0(%0) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %4 = graph.dispatch @transpose_0(%1) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %5 = graph.dispatch @use_0(%x, %3, %2) : (tensor<2xf32>, tensor<3x2xf32>, tensor<3xf32>) -> tensor<2xf32>
  %6 = graph.dispatch @use_0(%5, %4, %2) : (tensor<2xf32>, tensor<3x2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return %5, %6 : tensor<2xf32>, tensor<2xf32>
}
func.func private @transpose_0(tensor<2x3xf32>) -> tensor<3x2xf32>
func.func private @use_0(tensor<2xf32>, tensor<3x2xf32>, tensor<3xf32>) -> tensor<2xf32>

// -----

// A reshape of a constant is a view of the weight in @main, but a value of @init
// for a dispatch there. A constant may be a result; a kernel without operands is
// a constant; unused constants go.

// CHECK-LABEL: func.func @init(
// CHECK-SAME: %[[A:.*]]: tensor<4xf32> {graph.source = dense<2.000000e+00> : tensor<4xf32>}
// CHECK-NOT: graph.source
// CHECK-SAME: -> (tensor<4xf32> {graph.name = "w0"}, tensor<2xi64> {graph.name = "w1"}, tensor<2x2xf32> {graph.name = "w2"})
// CHECK: %[[R:.*]] = graph.reshape %[[A]]
// CHECK: %[[P:.*]] = graph.dispatch @pack_0(%[[R]])
// CHECK: %[[I:.*]] = graph.dispatch @iota_0()
// CHECK: return %[[A]], %[[I]], %[[P]]
// CHECK-LABEL: func.func @main(
// CHECK-DAG: %[[W0:.*]] = graph.weight "w0"
// CHECK-DAG: %[[W1:.*]] = graph.weight "w1"
// CHECK-DAG: %[[W2:.*]] = graph.weight "w2"
// CHECK: %[[V:.*]] = graph.reshape %[[W0]]
// CHECK: return %[[V]], %[[W1]], %[[W2]], %[[W0]]
func.func @main() -> (tensor<2x2xf32>, tensor<2xi64>, tensor<2x2xf32>, tensor<4xf32>) {
  %0 = graph.constant dense<2.0> : tensor<4xf32>
  %unused = graph.constant dense<3.0> : tensor<4xf32>
  %1 = graph.reshape %0 : tensor<4xf32> to tensor<2x2xf32>
  %2 = graph.dispatch @pack_0(%1) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = graph.dispatch @iota_0() : () -> tensor<2xi64>
  return %1, %3, %2, %0 : tensor<2x2xf32>, tensor<2xi64>, tensor<2x2xf32>, tensor<4xf32>
}
func.func private @pack_0(tensor<2x2xf32>) -> tensor<2x2xf32>
func.func private @iota_0() -> tensor<2xi64>

// -----

// Two constants of the same name stay two.

// CHECK-LABEL: func.func @init(
// CHECK-SAME: -> (tensor<f32> {graph.name = "w"}, tensor<f32> {graph.name = "w.1"})
func.func @main() -> (tensor<f32>, tensor<f32>) {
  %0 = graph.constant dense<1.0> : tensor<f32> loc("w")
  %1 = graph.constant dense<2.0> : tensor<f32> loc(fused["w", "x"])
  return %0, %1 : tensor<f32>, tensor<f32>
}

// -----

// Nothing to prepare, no @init.

// CHECK-NOT: @init
// CHECK: func.func @main
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

// Bodies read weights, too, which are computed before the loop.

// CHECK-LABEL: func.func @init(
// CHECK: graph.dispatch @pack_0
// CHECK: func.func @main
// CHECK-NEXT: %[[W:.*]] = graph.weight "w.pack" : tensor<2xf32>
// CHECK-NEXT: graph.scan
// CHECK-NEXT: graph.dispatch @add_0(%{{.*}}, %[[W]])
// CHECK-NEXT: graph.yield
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32> loc("w")
  %1 = graph.scan %i length 3 carry (%a = %x) : (tensor<2xf32>) -> (tensor<2xf32>) {
    %2 = graph.dispatch @pack_0(%0) : (tensor<2xf32>) -> tensor<2xf32>
    %3 = graph.dispatch @add_0(%a, %2) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    graph.yield %3 : tensor<2xf32>
  }
  return %1 : tensor<2xf32>
}
func.func private @pack_0(tensor<2xf32>) -> tensor<2xf32>
func.func private @add_0(tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
