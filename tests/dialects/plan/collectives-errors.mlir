// Collectives that are none, or meet with other steps.
// RUN: graph-opt %s --split-input-file --verify-diagnostics

plan.function @main inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{has no plan.await}}
  %0 = plan.start <all_reduce, sum, f32> input 0[0 to 32] to output 0[0 to 32]
}

// -----

plan.function @main inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.start <all_reduce, sum, f32> input 0[0 to 32] to output 0[0 to 32]
  %1 = plan.await %0
  // expected-error @+1 {{waits for a collective that is not started, or was waited for}}
  %2 = plan.await %0 after %1
}

// -----

plan.function @main inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.copy input 0[0 to 32] to output 0[0 to 32]
  // expected-error @+1 {{waits for a step that starts no collective}}
  %1 = plan.await %0
}

// -----

plan.function @main inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>, "z": tensor<8xf32>)
    arena 32 unplanned 0 lower_bound 0 {
  // expected-note @+1 {{it starts here}}
  %0 = plan.start <all_reduce, sum, f32> input 0[0 to 32] to arena[0 to 32]
  // expected-error @+1 {{accesses arena[0 to 32] before the plan.await of a collective that accesses arena[0 to 32], one of them writing}}
  %1 = plan.copy after %0 arena[0 to 32] to output 0[0 to 32]
  %2 = plan.await %0
  %3 = plan.copy after %2 arena[0 to 32] to output 1[0 to 32]
}

// -----

// What is sent may be read meanwhile, but not written.
plan.function @main inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>, "z": tensor<8xf32>)
    arena 32 unplanned 0 lower_bound 0 {
  %0 = plan.copy input 0[0 to 32] to arena[0 to 32]
  // expected-note @+1 {{it starts here}}
  %1 = plan.start after %0 <all_reduce, sum, f32> arena[0 to 32] to output 0[0 to 32]
  %2 = plan.copy arena[0 to 32] to output 1[0 to 32]
  // expected-error @+1 {{accesses arena[0 to 4] before the plan.await of a collective that accesses arena[0 to 32], one of them writing}}
  %3 = plan.zero after %2 arena[0 to 4]
  %4 = plan.await %1
}

// -----

plan.function @main inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.loop length 2
  // expected-error @+1 {{stands in a branch or a loop; all ranks have to run it, once}}
  %1 = plan.start after %0 <all_reduce, sum, f32> input 0[0 to 32] to output 0[0 to 32]
  %2 = plan.await %1
  %3 = plan.end_loop
}

// -----

plan.function @main inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{has 32 bytes of 'f32', and gives 16}}
  %0 = plan.start <all_reduce, sum, f32> input 0[0 to 32] to output 0[0 to 16]
  %1 = plan.await %0
}

// -----

plan.function @main inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 64 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{reads arena[0 to 32] and writes arena[16 to 48], which overlap}}
  %0 = plan.start <all_reduce, sum, f32> arena[0 to 32] to arena[16 to 48]
  %1 = plan.await %0
}

// -----

plan.function @main inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{only arenas, outputs and variables may be written}}
  %0 = plan.start <all_reduce, sum, f32> input 0[0 to 32] to weights[0 to 32]
  %1 = plan.await %0
}

// -----

plan.function @main inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{only reductions of f32 are sent as bf16}}
  %0 = plan.start <all_gather, sum, f32, communication_dtype = bf16, ranks = 1> input 0[0 to 32] to output 0[0 to 32]
}

// -----

plan.function @main inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{expected a root that is a rank, and a number of ranks, found 0 and 0}}
  %0 = plan.start <reduce_scatter, sum, f32> input 0[0 to 32] to output 0[0 to 32]
}

// -----

plan.function @main inputs("x": tensor<8xi32>) outputs("y": tensor<8xi32>)
    arena 0 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{expected floats to have a mean, found 'i32'}}
  %0 = plan.start <all_reduce, mean, i32> input 0[0 to 32] to output 0[0 to 32]
}

// -----

plan.function @main inputs("x": tensor<8xi8>) outputs("y": tensor<8xi8>)
    arena 0 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{expected elements that can be reduced over ranks}}
  %0 = plan.start <all_reduce, sum, i8> input 0[0 to 8] to output 0[0 to 8]
}
