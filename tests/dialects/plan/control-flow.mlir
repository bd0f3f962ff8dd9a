// Printed and read again, branches and loops stay what they are.
// RUN: graph-opt %s | FileCheck %s
// RUN: graph-opt %s | graph-opt | FileCheck %s
// RUN: graph-opt %s --mlir-print-op-generic | graph-opt | FileCheck %s
// RUN: graph-opt %s --emit-bytecode | graph-opt | FileCheck %s

plan.weight "w" at 0 : tensor<4x8xf32>

// Rows of an input, of an output from the last to the first, of the weights; and
// the number of the iteration.
// CHECK-LABEL: plan.function @rows
// CHECK: %[[LOOP:.*]] = plan.loop length 4
// CHECK-NEXT: %[[ROW:.*]] = plan.copy after %[[LOOP]] input 0[0 to 32] step (32) to output 0[96 to 128] step (-32)
// CHECK-NEXT: plan.copy weights[0 to 32] step (32) to output 1[0 to 32] step (32)
// CHECK-NEXT: plan.copy loop 0[0 to 8] to output 2[0 to 8] step (8)
// CHECK-NEXT: plan.end_loop
// What all iterations have written is there.
// CHECK-NEXT: plan.copy after %[[ROW]] output 0[0 to 128] to output 3[0 to 128]
plan.function @rows
    inputs("x": tensor<4x8xf32>)
    outputs("r": tensor<4x8xf32>, "w": tensor<4x8xf32>, "i": tensor<4xi64>, "c": tensor<4x8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.loop length 4
  %1 = plan.copy after %0 input 0[0 to 32] step (32) to output 0[96 to 128] step (-32)
  %2 = plan.copy weights[0 to 32] step (32) to output 1[0 to 32] step (32)
  %3 = plan.copy loop 0[0 to 8] to output 2[0 to 8] step (8)
  %4 = plan.end_loop
  %5 = plan.copy after %1 output 0[0 to 128] to output 3[0 to 128]
}

// Sides of a branch need no order among themselves.
// CHECK-LABEL: plan.function @sides
// CHECK: plan.if input 0[0 to 1]
// CHECK-NEXT: %[[THEN:.*]] = plan.copy input 1[0 to 32] to arena[0 to 32]
// CHECK-NEXT: plan.copy after %[[THEN]] arena[0 to 32] to output 0[0 to 32]
// CHECK-NEXT: plan.else
// CHECK-NEXT: plan.zero arena[0 to 32]
// CHECK-NEXT: plan.zero output 0[0 to 32]
// CHECK-NEXT: %[[END:.*]] = plan.end_if
// CHECK-NEXT: plan.copy after %[[END]] output 0[0 to 32] to output 1[0 to 32]
plan.function @sides
    inputs("c": tensor<i1>, "x": tensor<8xf32>)
    outputs("y": tensor<8xf32>, "z": tensor<8xf32>)
    arena 64 unplanned 128 lower_bound 64 {
  %0 = plan.if input 0[0 to 1]
  %1 = plan.copy input 1[0 to 32] to arena[0 to 32]
  %2 = plan.copy after %1 arena[0 to 32] to output 0[0 to 32]
  %3 = plan.else
  %4 = plan.zero arena[0 to 32]
  %5 = plan.zero output 0[0 to 32]
  %6 = plan.end_if
  %7 = plan.copy after %6 output 0[0 to 32] to output 1[0 to 32]
}

// Loops in loops; each iteration of the outer one has its own number of those of
// the inner one, which may be left.
// CHECK-LABEL: plan.function @nested
// CHECK: %[[OUTER:.*]] = plan.loop{{$}}
// CHECK-NEXT: plan.leave after %[[OUTER]] unless input 0[0 to 1]
// CHECK-NEXT: %[[MIDDLE:.*]] = plan.loop length 3
// CHECK-NEXT: %[[INNER:.*]] = plan.loop after %[[MIDDLE]] length 5 count input 1[0 to 8] step (0, 8)
// CHECK-NEXT: plan.copy after %[[INNER]] input 2[0 to 32] step (0, 160, 32) to arena[0 to 32]
// CHECK-NEXT: plan.end_loop
// CHECK-NEXT: plan.end_loop
// CHECK-NEXT: plan.end_loop
plan.function @nested
    inputs("c": tensor<i1>, "n": tensor<3xi64>, "x": tensor<3x5x8xf32>) outputs()
    arena 64 unplanned 64 lower_bound 64 {
  %0 = plan.loop
  %1 = plan.leave after %0 unless input 0[0 to 1]
  %2 = plan.loop length 3
  %3 = plan.loop after %2 length 5 count input 1[0 to 8] step (0, 8)
  %4 = plan.copy after %3 input 2[0 to 32] step (0, 160, 32) to arena[0 to 32]
  %5 = plan.end_loop
  %6 = plan.end_loop
  %7 = plan.end_loop
}
