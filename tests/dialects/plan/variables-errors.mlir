// RUN: graph-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{begins as weights[0 to 16]; expected the 32 bytes of a weight}}
plan.variable "w" = weights[0 to 16] : tensor<8xf32>

// -----

// expected-error @+1 {{begins as arena[0 to 32]; expected the 32 bytes of a weight}}
plan.variable "w" = arena[0 to 32] : tensor<8xf32>

// -----

// expected-error @+2 {{a variable has its value elsewhere}}
plan.function @step
    inputs("w" = dense<0.0> : tensor<8xf32> variable)
    outputs()
    arena 0 unplanned 0 lower_bound 0 {
}

// -----

// expected-error @+1 {{has variable "w" twice as an input}}
plan.function @step
    inputs("w": tensor<8xf32> variable, "w": tensor<8xf32> variable)
    outputs()
    arena 0 unplanned 0 lower_bound 0 {
}

// -----

// expected-error @+1 {{has variable "w" twice as an output}}
plan.function @step
    inputs("w": tensor<8xf32> variable)
    outputs("w": tensor<8xf32> variable, "w": tensor<8xf32> variable)
    arena 0 unplanned 0 lower_bound 0 {
}

// -----

// expected-error @+1 {{output 0 is variable "v", but no input of its type is}}
plan.function @step
    inputs("w": tensor<8xf32> variable)
    outputs("v": tensor<8xf32> variable)
    arena 0 unplanned 0 lower_bound 0 {
}

// -----

// expected-error @+1 {{output 0 is variable "w", but no input of its type is}}
plan.function @step
    inputs("w": tensor<8xf32> variable)
    outputs("w": tensor<4xf32> variable)
    arena 0 unplanned 0 lower_bound 0 {
}

// -----

// A variable that is only read.
plan.function @step
    inputs("x": tensor<8xf32>, "w": tensor<8xf32> variable)
    outputs()
    arena 0 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{writes input 1[0 to 32], which is no variable among the outputs}}
  plan.copy input 0[0 to 32] to input 1[0 to 32]
}

// -----

plan.function @step
    inputs("x": tensor<8xf32>, "w": tensor<8xf32> variable)
    outputs("w": tensor<8xf32> variable)
    arena 0 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{accesses output 0[0 to 32], a variable, which lies at input 1}}
  plan.copy input 0[0 to 32] to output 0[0 to 32]
}

// -----

// The next value while another step may still read the old one.
plan.function @step
    inputs("x": tensor<8xf32>, "w": tensor<8xf32> variable)
    outputs("y": tensor<8xf32>, "w": tensor<8xf32> variable)
    arena 0 unplanned 0 lower_bound 0 {
  // expected-note @+1 {{the earlier step is here}}
  plan.copy input 1[0 to 32] to output 0[0 to 32]
  // expected-error @+1 {{may access input 1[0 to 32] while an earlier step accesses input 1[0 to 32], one of them writing}}
  plan.copy input 0[0 to 32] to input 1[0 to 32]
}
