// RUN: graph-opt %s --split-input-file --verify-diagnostics

// Does not end.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  // expected-error @+1 {{has no end}}
  %0 = plan.loop length 4
}

// -----

// Wrong end.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.loop length 4
  // expected-error @+1 {{ends no steps of a plan.else}}
  %1 = plan.end_if
}

// -----

// No else.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.if input 1[0 to 1]
  // expected-error @+1 {{ends no steps of a plan.else}}
  %1 = plan.end_if
}

// -----

// Two elses.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.if input 1[0 to 1]
  %1 = plan.else
  // expected-error @+1 {{ends no steps of a plan.if}}
  %2 = plan.else
}

// -----

// End of no loop.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.if input 1[0 to 1]
  // expected-error @+1 {{ends no steps of a plan.loop}}
  %1 = plan.end_loop
}

// -----

// Leave outside.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  // expected-error @+1 {{stands in no loop, or in a branch of one}}
  %0 = plan.leave unless input 1[0 to 1]
}

// -----

// Leave in branch.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.loop length 4
  %1 = plan.if input 1[0 to 1]
  // expected-error @+1 {{stands in no loop, or in a branch of one}}
  %2 = plan.leave unless input 1[0 to 1]
}

// -----

// Condition size.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  // expected-error @+1 {{reads input 0[0 to 4], which has 4 bytes, not 1}}
  %0 = plan.if input 0[0 to 4]
}

// -----

// Count size.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  // expected-error @+1 {{reads input 0[0 to 4], which has 4 bytes, not 8}}
  %0 = plan.loop length 4 count input 0[0 to 4]
}

// -----

// Length.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  // expected-error @+1 {{expected a length that is not negative}}
  %0 = plan.loop length -4
}

// -----

// Zero write.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  // expected-error @+1 {{writes input 0[0 to 4], which is no variable among the outputs}}
  %0 = plan.zero input 0[0 to 4]
}

// -----

// Zero rows.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  // expected-error @+1 {{writes arena[0 to 40, 8 of 16], but only contiguous bytes can be set to 0}}
  %0 = plan.zero arena[0 to 40, 8 of 16]
}

// -----

// Stride without loop.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  // expected-error @+1 {{accesses output 0[0 to 4] step (4), but there are 0 loops around it}}
  %0 = plan.zero output 0[0 to 4] step (4)
}

// -----

// Stride too far.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.loop length 5
  // expected-error @+1 {{accesses output 0[0 to 160], but the output has 128 bytes}}
  %1 = plan.zero output 0[0 to 32] step (32)
}

// -----

// Stride below.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.loop length 5
  // expected-error @+1 {{accesses output 0[0 to 32] step (-32), which does not exist in all iterations}}
  %1 = plan.zero output 0[0 to 32] step (-32)
}

// -----

// Stride in endless loop.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.loop
  // expected-error @+1 {{accesses output 0[0 to 32] step (32), which does not exist in all iterations}}
  %1 = plan.zero output 0[0 to 32] step (32)
}

// -----

// Stride syntax.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.loop
  // expected-error @+1 {{expected strides of which the last is not 0}}
  %1 = plan.zero output 0[0 to 32] step (32, 0)
}

// -----

// Number outside.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  // expected-error @+1 {{accesses loop 0[0 to 8], but @main has no loop 0}}
  %0 = plan.copy loop 0[0 to 8] to output 0[0 to 8]
}

// -----

// Part of number.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.loop length 4
  // expected-error @+1 {{accesses loop 0[0 to 4], but the loop has 8 bytes}}
  %1 = plan.copy loop 0[0 to 4] to output 0[0 to 4]
}

// -----

// Moving number.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.loop length 4
  // expected-error @+1 {{accesses loop 0[0 to 8] step (8), but such a number does not move}}
  %1 = plan.copy loop 0[0 to 8] step (8) to output 0[0 to 8]
}

// -----

// Written on one side only.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.if input 1[0 to 1]
  %1 = plan.zero arena[0 to 32]
  %2 = plan.else
  %3 = plan.zero arena[0 to 16]
  %4 = plan.end_if
  // expected-error @+1 {{reads arena[0 to 32], which no earlier step writes}}
  %5 = plan.copy after %4 arena[0 to 32] to output 0[0 to 32]
}

// -----

// Written on the other side.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.if input 1[0 to 1]
  %1 = plan.zero arena[0 to 32]
  %2 = plan.else
  // expected-error @+1 {{reads arena[0 to 32], which no earlier step writes}}
  %3 = plan.copy arena[0 to 32] to output 0[0 to 32]
}

// -----

// Written in an iteration that may not be.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.loop length 0
  %1 = plan.zero arena[0 to 32]
  %2 = plan.end_loop
  // expected-error @+1 {{reads arena[0 to 32], which no earlier step writes}}
  %3 = plan.copy after %2 arena[0 to 32] to output 0[0 to 32]
}

// -----

// Written after leave.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.loop
  %1 = plan.leave unless input 1[0 to 1]
  %2 = plan.zero arena[0 to 32]
  %3 = plan.end_loop
  // expected-error @+1 {{reads arena[0 to 32], which no earlier step writes}}
  %4 = plan.copy after %3 arena[0 to 32] to output 0[0 to 32]
}

// -----

// Written by the iteration before.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.loop length 4
  // expected-error @+1 {{reads arena[0 to 32], which no earlier step writes}}
  %1 = plan.copy arena[0 to 32] to arena[64 to 96]
  %2 = plan.zero after %1 arena[0 to 32]
}

// -----

// Rows with gaps.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.loop length 4
  %1 = plan.zero arena[0 to 16] step (32)
  %2 = plan.end_loop
  // expected-error @+1 {{reads arena[0 to 112], which no earlier step writes}}
  %3 = plan.copy after %2 arena[0 to 112] to output 0[0 to 112]
}

// -----

// Not all rows.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.loop length 4
  %1 = plan.leave unless input 1[0 to 1]
  %2 = plan.zero arena[0 to 32] step (32)
  %3 = plan.end_loop
  // expected-error @+1 {{reads arena[0 to 128], which no earlier step writes}}
  %4 = plan.copy after %3 arena[0 to 128] to output 0[0 to 128]
}

// -----

// Race with a row.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.zero arena[0 to 128]
  %1 = plan.loop length 4
  // expected-note @+1 {{the earlier step is here}}
  %2 = plan.copy after %1 input 0[0 to 32] step (32) to arena[0 to 32] step (32)
  %3 = plan.end_loop
  // expected-error @+1 {{may access arena[96 to 128] while an earlier step accesses arena[0 to 128], one of them writing}}
  %4 = plan.copy after %1 arena[96 to 128] to output 0[0 to 32]
}

// -----

// Race with a condition.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.zero arena[0 to 1]
  // expected-note @+1 {{the earlier step is here}}
  %1 = plan.if after %0 arena[0 to 1]
  // expected-error @+1 {{may access arena[0 to 32] while an earlier step accesses arena[0 to 1], one of them writing}}
  %2 = plan.zero arena[0 to 32]
}

// -----

// Row and whole.
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 256 unplanned 256 lower_bound 256 {
  %0 = plan.zero arena[0 to 128]
  %1 = plan.loop after %0 length 4
  // expected-error @+1 {{writes arena[0 to 32] step (32) while it accesses arena[32 to 64], which may be the same bytes}}
  %2 = plan.copy after %1 arena[32 to 64] to arena[0 to 32] step (32)
}
