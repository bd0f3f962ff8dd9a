// RUN: graph-opt %s | graph-opt | FileCheck %s

// CHECK: plan.variable "w" = weights[0 to 64] : tensor<16xf32> trainable on_device
// CHECK: plan.function @main
// CHECK-NEXT: inputs("x": tensor<16xf32>,
// CHECK-NEXT:   "w": tensor<16xf32> variable)
// CHECK-NEXT: outputs("y": tensor<16xf32>,
// CHECK-NEXT:   "w": tensor<16xf32> variable)
// CHECK-NEXT: arena 0 unplanned 0 lower_bound 0
// CHECK-NEXT: device_arena 64 unplanned 128 lower_bound 64 {
// CHECK-NEXT: %0 = plan.copy input 0[0 to 64] to device[0 to 64]
// CHECK-NEXT: %1 = plan.dispatch @k after %0 chunks 2 threads 128 scratch 256 reads(device[0 to 64], device_weights[0 to 64]) writes(device[0 to 64] inplace 0)
// CHECK-NEXT: %2 = plan.dispatch @k after %1 chunks 2 threads 128 scratch 256 reads(input 1[0 to 64], device[0 to 64]) writes(input 1[0 to 64] inplace 0)
// CHECK-NEXT: %3 = plan.copy after %1 device[0 to 64] to output 0[0 to 64]
plan.weight "w" at 0 : tensor<16xf32>
plan.variable "w" = weights[0 to 64] : tensor<16xf32> trainable on_device
plan.function @main
    inputs("x": tensor<16xf32>, "w": tensor<16xf32> variable)
    outputs("y": tensor<16xf32>, "w": tensor<16xf32> variable)
    arena 0 unplanned 0 lower_bound 0
    device_arena 64 unplanned 128 lower_bound 64 {
  %0 = plan.copy input 0[0 to 64] to device[0 to 64]
  %1 = plan.dispatch @k after %0 chunks 2 threads 128 scratch 256 reads(device[0 to 64], device_weights[0 to 64]) writes(device[0 to 64] inplace 0)
  %2 = plan.dispatch @k after %1 chunks 2 threads 128 scratch 256 reads(input 1[0 to 64], device[0 to 64]) writes(input 1[0 to 64] inplace 0)
  %3 = plan.copy after %1 device[0 to 64] to output 0[0 to 64]
}
func.func private @k(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32>
    attributes {graph.device = "cuda", graph.chunks = 2 : i64, graph.threads = 128 : i64, graph.scratch = 256 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %a : tensor<16xf32>
}
