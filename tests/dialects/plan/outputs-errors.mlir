// Outputs of which a run may leave bytes as they were.
// RUN: graph-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{has output "z", output 1[0 to 32], which its steps do not write as a whole}}
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>, "z": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.copy input 0[0 to 32] to output 0[0 to 32]
}

// -----

// expected-error @+1 {{has output "y", output 0[0 to 64], which its steps do not write as a whole}}
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<16xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.copy input 0[0 to 32] to output 0[0 to 32]
}

// -----

// A loop that is too short.
// expected-error @+1 {{has output "y", output 0[0 to 128], which its steps do not write as a whole}}
plan.function @main
    inputs("x": tensor<4x8xf32>) outputs("y": tensor<4x8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.loop length 3
  %1 = plan.copy after %0 input 0[0 to 32] step (32) to output 0[0 to 32] step (32)
  %2 = plan.end_loop
}

// -----

// One that may have fewer iterations.
// expected-error @+1 {{has output "y", output 0[0 to 128], which its steps do not write as a whole}}
plan.function @main
    inputs("x": tensor<4x8xf32>, "n": tensor<i64>) outputs("y": tensor<4x8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.loop length 4 count input 1[0 to 8]
  %1 = plan.copy after %0 input 0[0 to 32] step (32) to output 0[0 to 32] step (32)
  %2 = plan.end_loop
}

// -----

// One that may be left.
// expected-error @+1 {{has output "y", output 0[0 to 128], which its steps do not write as a whole}}
plan.function @main
    inputs("x": tensor<4x8xf32>, "c": tensor<i1>) outputs("y": tensor<4x8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.loop length 4
  %1 = plan.copy after %0 input 0[0 to 32] step (32) to output 0[0 to 32] step (32)
  %2 = plan.leave after %1 unless input 1[0 to 1]
  %3 = plan.end_loop
}

// -----

// Rows with gaps between them, in all iterations.
// expected-error @+1 {{has output "y", output 0[0 to 256], which its steps do not write as a whole}}
plan.function @main
    inputs("x": tensor<4x8xf32>) outputs("y": tensor<4x16xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.loop length 4
  %1 = plan.copy after %0 input 0[0 to 32] step (32) to output 0[0 to 32] step (64)
  %2 = plan.copy input 0[4 to 32] step (32) to output 0[36 to 64] step (64)
  %3 = plan.end_loop
}

// -----

// One side of a branch.
// expected-error @+1 {{has output "y", output 0[0 to 32], which its steps do not write as a whole}}
plan.function @main
    inputs("x": tensor<8xf32>, "c": tensor<i1>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.if input 1[0 to 1]
  %1 = plan.copy input 0[0 to 32] to output 0[0 to 32]
  %2 = plan.else
  %3 = plan.copy input 0[0 to 28] to output 0[0 to 28]
  %4 = plan.end_if
}

// -----

// What @init does not make is no weight.
plan.weight "w" at 0 : tensor<8xf32>
// expected-error @+1 {{has output "w", output 0[0 to 32], which its steps do not write as a whole}}
plan.function @init
    inputs("x" = dense<1.0> : tensor<8xf32>) outputs("w": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
}
