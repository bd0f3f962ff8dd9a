// Outputs that several steps write, each byte on all ways to the end.
// RUN: graph-opt %s | FileCheck %s

// Pieces side by side, in each row of what a loop stacks, and rows of a piece.
// CHECK-LABEL: plan.function @stacked
plan.function @stacked
    inputs("x": tensor<4x8xf32>) outputs("y": tensor<4x16xf32>, "z": tensor<4x2x8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.loop length 4
  %1 = plan.copy after %0 input 0[0 to 32] step (32) to output 0[0 to 32] step (64)
  %2 = plan.copy input 0[0 to 32] step (32) to output 0[32 to 64] step (64)
  %3 = plan.dispatch @half chunks 1 scratch 0 reads(input 0[0 to 32] step (32)) writes(output 1[0 to 48, 16 of 32] step (64))
  %4 = plan.dispatch @half chunks 1 scratch 0 reads(input 0[0 to 32] step (32)) writes(output 1[16 to 64, 16 of 32] step (64))
  %5 = plan.end_loop
}

// From the last to the first, and in loops of loops.
// CHECK-LABEL: plan.function @nested
plan.function @nested
    inputs("x": tensor<8xf32>) outputs("y": tensor<3x4x16xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.loop length 3
  %1 = plan.loop after %0 length 4
  %2 = plan.copy after %1 input 0[0 to 32] to output 0[192 to 224] step (256, -64)
  %3 = plan.copy input 0[0 to 32] to output 0[224 to 256] step (256, -64)
  %4 = plan.end_loop
  %5 = plan.end_loop
}

// Rows that a loop may leave out are zeros; and the sides of a branch divide an
// output each in its way.
// CHECK-LABEL: plan.function @ways
plan.function @ways
    inputs("x": tensor<4x8xf32>, "n": tensor<i64>, "c": tensor<i1>)
    outputs("y": tensor<4x8xf32>, "z": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.zero output 0[0 to 128]
  %1 = plan.loop after %0 length 4 count input 1[0 to 8]
  %2 = plan.copy after %1 input 0[0 to 32] step (32) to output 0[0 to 32] step (32)
  %3 = plan.end_loop
  %4 = plan.if input 2[0 to 1]
  %5 = plan.copy input 0[0 to 32] to output 1[0 to 32]
  %6 = plan.else
  %7 = plan.copy input 0[0 to 16] to output 1[0 to 16]
  %8 = plan.zero output 1[16 to 32]
  %9 = plan.end_if
}

func.func private @half(%x: tensor<2x4xf32>) -> (tensor<2x4xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
