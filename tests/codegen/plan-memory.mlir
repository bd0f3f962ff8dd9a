// RUN: graph-opt %s --plan-memory | FileCheck %s
// RUN: graph-opt %s --plan-memory | graph-opt | FileCheck %s

// Weights are the results of @init, each at an aligned place.
// CHECK: plan.weight "w" at 0 : tensor<8xf32>
// CHECK-NEXT: plan.weight "b" at 64 : tensor<2x4xf32>

// @init has the values of its inputs; its results are its outputs.
// CHECK-LABEL: plan.function @init
// CHECK-NEXT: inputs("model.w" = dense<2.000000e+00> : tensor<8xf32>,
// CHECK-NEXT:   "" = #graph.external<"model.onnx", 64, 32> : tensor<2x4xf32>)
// CHECK-NEXT: outputs("w": tensor<8xf32>,
// CHECK-NEXT:   "b": tensor<2x4xf32>)
// CHECK-NEXT: arena 0 unplanned 0 lower_bound 0 {
// CHECK-NEXT:   plan.dispatch @relu chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
// What no kernel writes is copied.
// CHECK-NEXT:   plan.copy input 1[0 to 32] to output 1[0 to 32]
// CHECK-NEXT: }
func.func @init(%0: tensor<8xf32> {graph.source = dense<2.0> : tensor<8xf32>} loc("model.w"),
                %1: tensor<2x4xf32> {graph.source = #graph.external<"model.onnx", 64, 32> : tensor<2x4xf32>})
    -> (tensor<8xf32> {graph.name = "w"}, tensor<2x4xf32> {graph.name = "b"}) {
  %2 = graph.dispatch @relu(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %2, %1 : tensor<8xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: plan.function @main
// CHECK-NEXT: inputs("x": tensor<8xf32>)
// CHECK-NEXT: outputs("y": tensor<8xf32>,
// CHECK-NEXT:   "z": tensor<2x4xf32>,
// CHECK-NEXT:   "b": tensor<2x4xf32>)
// CHECK-NEXT: arena 64 unplanned 128 lower_bound 64 {
// CHECK-NEXT: %[[S0:.*]] = plan.dispatch @add chunks 2 scratch 128 reads(input 0[0 to 32], weights[0 to 32]) writes(arena[0 to 32])
// A result may lie where an operand does; a view is no step.
// CHECK-NEXT: %[[S1:.*]] = plan.dispatch @relu after %[[S0]] chunks 1 scratch 0 reads(arena[0 to 32]) writes(arena[0 to 32] inplace 0)
// A result that is returned is written to the output itself.
// CHECK-NEXT: %[[S2:.*]] = plan.dispatch @add after %[[S1]] chunks 2 scratch 128 reads(arena[0 to 32], weights[64 to 96]) writes(output 0[0 to 32])
// CHECK-NEXT: %[[S3:.*]] = plan.copy after %[[S2]] output 0[0 to 32] to output 1[0 to 32]
// CHECK-NEXT: plan.copy weights[64 to 96] to output 2[0 to 32]
func.func @main(%x: tensor<8xf32> {graph.name = "x"})
    -> (tensor<8xf32> {graph.name = "y"}, tensor<2x4xf32> {graph.name = "z"}, tensor<2x4xf32> {graph.name = "b"}) {
  %w = graph.weight "w" : tensor<8xf32>
  %b = graph.weight "b" : tensor<2x4xf32>
  %v = graph.reshape %b : tensor<2x4xf32> to tensor<8xf32>
  %0 = graph.dispatch @add(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.dispatch @relu(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = graph.dispatch @add(%1, %v) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = graph.reshape %2 : tensor<8xf32> to tensor<2x4xf32>
  return %2, %3, %b : tensor<8xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// Kernels stay as they are.
// CHECK: func.func private @relu
func.func private @relu(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}
func.func private @add(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 2 : i64, graph.scratch = 128 : i64} {
  return %x : tensor<8xf32>
}
