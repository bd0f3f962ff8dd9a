// Collectives, and what may run beside them.
// RUN: graph-opt %s | FileCheck %s
// RUN: graph-opt %s | graph-opt | FileCheck %s
// RUN: graph-opt %s --emit-bytecode | graph-opt | FileCheck %s

// CHECK: plan.function @main
// CHECK: %[[S0:.*]] = plan.copy input 0[0 to 32] to arena[0 to 32]
// CHECK-NEXT: %[[S1:.*]] = plan.start after %[[S0]] <all_reduce, mean, f32> arena[0 to 32] to arena[0 to 32]
// CHECK-NEXT: %[[S2:.*]] = plan.start <reduce_scatter, sum, f32, communication_dtype = bf16, ranks = 2> input 1[0 to 32] to arena[64 to 80]
// CHECK-NEXT: %[[S3:.*]] = plan.copy input 1[0 to 32] to output 0[0 to 32]
// CHECK-NEXT: %[[S4:.*]] = plan.await %[[S1]]
// CHECK-NEXT: %[[S5:.*]] = plan.copy after %[[S4]] arena[0 to 32] to output 1[0 to 32]
// CHECK-NEXT: %[[S6:.*]] = plan.await %[[S2]]
// CHECK-NEXT: %[[S7:.*]] = plan.start after %[[S6]] <all_gather, sum, f32, ranks = 2> arena[64 to 80] to output 2[0 to 32]
// CHECK-NEXT: plan.await %[[S7]]
// CHECK-NEXT: %[[S8:.*]] = plan.start <broadcast, sum, f32, root = 1> input 0[0 to 32] to output 3[0 to 32]
// CHECK-NEXT: plan.await %[[S8]]
plan.function @main
    inputs("x": tensor<8xf32>, "y": tensor<8xf32>)
    outputs("a": tensor<8xf32>, "b": tensor<8xf32>, "c": tensor<8xf32>, "d": tensor<8xf32>)
    arena 128 unplanned 128 lower_bound 128 {
  %0 = plan.copy input 0[0 to 32] to arena[0 to 32]
  %1 = plan.start after %0 <all_reduce, mean, f32> arena[0 to 32] to arena[0 to 32]
  %2 = plan.start <reduce_scatter, sum, f32, communication_dtype = bf16, ranks = 2> input 1[0 to 32] to arena[64 to 80]
  %3 = plan.copy input 1[0 to 32] to output 0[0 to 32]
  %4 = plan.await %1
  %5 = plan.copy after %4 arena[0 to 32] to output 1[0 to 32]
  %6 = plan.await %2
  %7 = plan.start after %6 <all_gather, sum, f32, ranks = 2> arena[64 to 80] to output 2[0 to 32]
  %8 = plan.await %7
  %9 = plan.start <broadcast, sum, f32, root = 1> input 0[0 to 32] to output 3[0 to 32]
  %10 = plan.await %9
}
