// Steps that are after what does not come before them. MLIR itself would say so,
// but only when it has verified the function.
// RUN: graph-opt %s --split-input-file --verify-diagnostics

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>, "z": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{is after a step that does not come before it}}
  %0 = plan.copy after %1 input 0[0 to 32] to output 0[0 to 32]
  // expected-note @+1 {{the other step is here}}
  %1 = plan.copy input 0[0 to 32] to output 1[0 to 32]
}

// -----

// In a branch, where no other step is between them.
plan.function @main
    inputs("x": tensor<8xf32>, "c": tensor<i1>) outputs("y": tensor<8xf32>)
    arena 32 unplanned 0 lower_bound 0 {
  %0 = plan.if input 1[0 to 1]
  // expected-error @+1 {{is after a step that does not come before it}}
  %1 = plan.copy after %2 arena[0 to 32] to output 0[0 to 32]
  // expected-note @+1 {{the other step is here}}
  %2 = plan.copy input 0[0 to 32] to arena[0 to 32]
  %3 = plan.else
  %4 = plan.zero output 0[0 to 32]
  %5 = plan.end_if
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  // expected-error @+2 {{is after a step that does not come before it}}
  // expected-note @+1 {{the other step is here}}
  %0 = plan.copy after %0 input 0[0 to 32] to output 0[0 to 32]
}
