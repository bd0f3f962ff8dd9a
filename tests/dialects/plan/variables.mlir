// RUN: graph-opt %s | graph-opt | FileCheck %s

// CHECK: plan.weight "w" at 0 : tensor<8xf32>
// CHECK-NEXT: plan.variable "w" = weights[0 to 32] : tensor<8xf32> trainable
// CHECK-NEXT: plan.variable "count" : tensor<i64>
plan.weight "w" at 0 : tensor<8xf32>
plan.variable "w" = weights[0 to 32] : tensor<8xf32> trainable
plan.variable "count" : tensor<i64>

// CHECK: plan.function @step
// CHECK-NEXT: inputs("x": tensor<8xf32>,
// CHECK-NEXT:   "w": tensor<8xf32> variable)
// CHECK-NEXT: outputs("w": tensor<8xf32> variable)
// CHECK: plan.copy input 0[0 to 32] to input 1[0 to 32]
plan.function @step
    inputs("x": tensor<8xf32>, "w": tensor<8xf32> variable)
    outputs("w": tensor<8xf32> variable)
    arena 0 unplanned 0 lower_bound 0 {
  plan.copy input 0[0 to 32] to input 1[0 to 32]
}
