// What rows of bytes must not be.
// RUN: graph-opt %s --split-input-file --verify-diagnostics

plan.function @main
    inputs("x": tensor<3x8xf32>, "z": tensor<3x2xf32>)
    outputs("y": tensor<3x8xf32>, "w": tensor<3x2xf32>)
    arena 128 unplanned 128 lower_bound 128 {
  // expected-error @+1 {{expected two or more whole rows of 24 bytes, each 32 after the one before}}
  plan.dispatch @left chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[0 to 96, 24 of 32])
}
func.func private @left(%x: tensor<3x8xf32>) -> (tensor<3x6xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @right(%x: tensor<3x2xf32>) -> (tensor<3x2xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @whole(%x: tensor<3x8xf32>) -> tensor<3x8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @part(%x: tensor<3x2xf32> {graph.strides = array<i64: 8, 1>}) -> tensor<3x2xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}

// -----

plan.function @main
    inputs("x": tensor<3x8xf32>, "z": tensor<3x2xf32>)
    outputs("y": tensor<3x8xf32>, "w": tensor<3x2xf32>)
    arena 128 unplanned 128 lower_bound 128 {
  // expected-error @+1 {{expected two or more whole rows of 32 bytes, each 32 after the one before}}
  plan.dispatch @left chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[0 to 96, 32 of 32])
}
func.func private @left(%x: tensor<3x8xf32>) -> (tensor<3x6xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @right(%x: tensor<3x2xf32>) -> (tensor<3x2xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @whole(%x: tensor<3x8xf32>) -> tensor<3x8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @part(%x: tensor<3x2xf32> {graph.strides = array<i64: 8, 1>}) -> tensor<3x2xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}

// -----

// The kernel writes other rows.
plan.function @main
    inputs("x": tensor<3x8xf32>, "z": tensor<3x2xf32>)
    outputs()
    arena 128 unplanned 128 lower_bound 128 {
  // expected-error @+1 {{kernel 'left' has 'tensor<3x6xf32>' among its results, 72 bytes, 24 of every 32, where arena[0 to 72] has 72}}
  plan.dispatch @left chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[0 to 72])
}
func.func private @left(%x: tensor<3x8xf32>) -> (tensor<3x6xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @right(%x: tensor<3x2xf32>) -> (tensor<3x2xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @whole(%x: tensor<3x8xf32>) -> tensor<3x8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @part(%x: tensor<3x2xf32> {graph.strides = array<i64: 8, 1>}) -> tensor<3x2xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}

// -----

plan.function @main
    inputs("x": tensor<3x8xf32>, "z": tensor<3x2xf32>)
    outputs()
    arena 128 unplanned 128 lower_bound 128 {
  // expected-error @+1 {{kernel 'whole' has 'tensor<3x8xf32>' among its results, 96 bytes, where arena[0 to 96, 16 of 80] has 32}}
  plan.dispatch @whole chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[0 to 96, 16 of 80])
}
func.func private @left(%x: tensor<3x8xf32>) -> (tensor<3x6xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @right(%x: tensor<3x2xf32>) -> (tensor<3x2xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @whole(%x: tensor<3x8xf32>) -> tensor<3x8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @part(%x: tensor<3x2xf32> {graph.strides = array<i64: 8, 1>}) -> tensor<3x2xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}

// -----

// Elements are aligned.
plan.function @main
    inputs("x": tensor<3x8xf32>, "z": tensor<3x2xf32>)
    outputs()
    arena 128 unplanned 128 lower_bound 128 {
  // expected-error @+1 {{kernel 'right' has 'tensor<3x2xf32>' among its results, but arena[2 to 74, 8 of 32] does not begin at a multiple of 4 bytes}}
  plan.dispatch @right chunks 1 scratch 0 reads(input 1[0 to 24]) writes(arena[2 to 74, 8 of 32])
}
func.func private @left(%x: tensor<3x8xf32>) -> (tensor<3x6xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @right(%x: tensor<3x2xf32>) -> (tensor<3x2xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @whole(%x: tensor<3x8xf32>) -> tensor<3x8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @part(%x: tensor<3x2xf32> {graph.strides = array<i64: 8, 1>}) -> tensor<3x2xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}

// -----

// The rows have bytes in common.
plan.function @main
    inputs("x": tensor<3x8xf32>, "z": tensor<3x2xf32>)
    outputs("y": tensor<3x8xf32>, "w": tensor<3x2xf32>)
    arena 128 unplanned 128 lower_bound 128 {
  %0 = plan.dispatch @left chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[0 to 88, 24 of 32])
  // expected-note @-1 {{the earlier step is here}}
  // expected-error @+1 {{may access arena[20 to 92, 8 of 32] while an earlier step accesses arena[0 to 88, 24 of 32], one of them writing}}
  plan.dispatch @right chunks 1 scratch 0 reads(input 1[0 to 24]) writes(arena[20 to 92, 8 of 32])
}
func.func private @left(%x: tensor<3x8xf32>) -> (tensor<3x6xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @right(%x: tensor<3x2xf32>) -> (tensor<3x2xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @whole(%x: tensor<3x8xf32>) -> tensor<3x8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @part(%x: tensor<3x2xf32> {graph.strides = array<i64: 8, 1>}) -> tensor<3x2xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}

// -----

plan.function @main
    inputs("x": tensor<3x8xf32>, "z": tensor<3x2xf32>)
    outputs("y": tensor<3x8xf32>, "w": tensor<3x2xf32>)
    arena 128 unplanned 128 lower_bound 128 {
  %0 = plan.dispatch @left chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[0 to 88, 24 of 32])
  // expected-note @-1 {{the earlier step is here}}
  // expected-error @+1 {{may access arena[28 to 100, 8 of 32] while an earlier step accesses arena[0 to 88, 24 of 32], one of them writing}}
  plan.dispatch @right chunks 1 scratch 0 reads(input 1[0 to 24]) writes(arena[28 to 100, 8 of 32])
}
func.func private @left(%x: tensor<3x8xf32>) -> (tensor<3x6xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @right(%x: tensor<3x2xf32>) -> (tensor<3x2xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @whole(%x: tensor<3x8xf32>) -> tensor<3x8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @part(%x: tensor<3x2xf32> {graph.strides = array<i64: 8, 1>}) -> tensor<3x2xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}

// -----

// So have a row and bytes that reach into it.
plan.function @main
    inputs("x": tensor<3x8xf32>, "z": tensor<3x2xf32>)
    outputs("y": tensor<3x8xf32>, "w": tensor<3x2xf32>)
    arena 128 unplanned 128 lower_bound 128 {
  %0 = plan.dispatch @left chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[0 to 88, 24 of 32])
  // expected-note @-1 {{the earlier step is here}}
  // expected-error @+1 {{may access arena[48 to 72] while an earlier step accesses arena[0 to 88, 24 of 32], one of them writing}}
  plan.dispatch @plain chunks 1 scratch 0 reads(input 1[0 to 24]) writes(arena[48 to 72])
}
func.func private @left(%x: tensor<3x8xf32>) -> (tensor<3x6xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @right(%x: tensor<3x2xf32>) -> (tensor<3x2xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @whole(%x: tensor<3x8xf32>) -> tensor<3x8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @part(%x: tensor<3x2xf32> {graph.strides = array<i64: 8, 1>}) -> tensor<3x2xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @plain(%x: tensor<3x2xf32>) -> tensor<3x2xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}

// -----

// A piece is missing, or a row of it.
plan.function @main
    inputs("x": tensor<3x8xf32>, "z": tensor<3x2xf32>)
    outputs("y": tensor<3x8xf32>, "w": tensor<3x2xf32>)
    arena 128 unplanned 128 lower_bound 128 {
  %0 = plan.dispatch @left chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[0 to 88, 24 of 32])
  // expected-error @+1 {{reads arena[0 to 96], which no earlier step writes}}
  plan.dispatch @whole after %0 chunks 1 scratch 0 reads(arena[0 to 96]) writes(output 0[0 to 96])
}
func.func private @left(%x: tensor<3x8xf32>) -> (tensor<3x6xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @right(%x: tensor<3x2xf32>) -> (tensor<3x2xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @whole(%x: tensor<3x8xf32>) -> tensor<3x8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @part(%x: tensor<3x2xf32> {graph.strides = array<i64: 8, 1>}) -> tensor<3x2xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}

// -----

plan.function @main
    inputs("x": tensor<3x8xf32>, "z": tensor<3x2xf32>)
    outputs("y": tensor<3x8xf32>, "w": tensor<3x2xf32>)
    arena 128 unplanned 128 lower_bound 128 {
  %0 = plan.dispatch @left chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[0 to 88, 24 of 32])
  %1 = plan.dispatch @right chunks 1 scratch 0 reads(input 1[0 to 24]) writes(arena[56 to 128, 8 of 32])
  // expected-error @+1 {{reads arena[0 to 96], which no earlier step writes}}
  plan.dispatch @whole after %1 chunks 1 scratch 0 reads(arena[0 to 96]) writes(output 0[0 to 96])
}
func.func private @left(%x: tensor<3x8xf32>) -> (tensor<3x6xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @right(%x: tensor<3x2xf32>) -> (tensor<3x2xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @whole(%x: tensor<3x8xf32>) -> tensor<3x8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @part(%x: tensor<3x2xf32> {graph.strides = array<i64: 8, 1>}) -> tensor<3x2xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}

// -----

plan.function @main
    inputs("x": tensor<3x8xf32>, "z": tensor<3x2xf32>)
    outputs("y": tensor<3x8xf32>, "w": tensor<3x2xf32>)
    arena 128 unplanned 128 lower_bound 128 {
  %0 = plan.dispatch @left chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[0 to 88, 24 of 32])
  // expected-error @+1 {{reads arena[24 to 96, 8 of 32], which no earlier step writes}}
  plan.dispatch @part after %0 chunks 1 scratch 0 reads(arena[24 to 96, 8 of 32]) writes(output 1[0 to 24])
}
func.func private @left(%x: tensor<3x8xf32>) -> (tensor<3x6xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @right(%x: tensor<3x2xf32>) -> (tensor<3x2xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @whole(%x: tensor<3x8xf32>) -> tensor<3x8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @part(%x: tensor<3x2xf32> {graph.strides = array<i64: 8, 1>}) -> tensor<3x2xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}

// -----

// Rows of another pitch leave one out that is read.
plan.function @main
    inputs("x": tensor<3x8xf32>, "z": tensor<3x2xf32>)
    outputs("w": tensor<6x2xf32>)
    arena 128 unplanned 128 lower_bound 128 {
  %0 = plan.dispatch @left chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[0 to 88, 24 of 32])
  %1 = plan.dispatch @right chunks 1 scratch 0 reads(input 1[0 to 24]) writes(arena[56 to 128, 8 of 32])
  // expected-error @+1 {{reads arena[8 to 96, 8 of 16], which no earlier step writes}}
  plan.dispatch @short after %1 chunks 1 scratch 0 reads(arena[8 to 96, 8 of 16]) writes(output 0[0 to 48])
}
func.func private @left(%x: tensor<3x8xf32>) -> (tensor<3x6xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @right(%x: tensor<3x2xf32>) -> (tensor<3x2xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @short(%x: tensor<6x2xf32> {graph.strides = array<i64: 4, 1>}) -> tensor<6x2xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}

// -----

// Rows are copied by kernels.
plan.function @main
    inputs("x": tensor<3x8xf32>, "z": tensor<3x2xf32>)
    outputs("y": tensor<3x8xf32>, "w": tensor<3x2xf32>)
    arena 128 unplanned 128 lower_bound 128 {
  %0 = plan.dispatch @left chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[0 to 88, 24 of 32])
  // expected-error @+1 {{copies arena[0 to 88, 24 of 32], but only contiguous bytes can be copied}}
  plan.copy after %0 arena[0 to 88, 24 of 32] to output 0[0 to 88]
}
func.func private @left(%x: tensor<3x8xf32>) -> (tensor<3x6xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @right(%x: tensor<3x2xf32>) -> (tensor<3x2xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @whole(%x: tensor<3x8xf32>) -> tensor<3x8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @part(%x: tensor<3x2xf32> {graph.strides = array<i64: 8, 1>}) -> tensor<3x2xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
