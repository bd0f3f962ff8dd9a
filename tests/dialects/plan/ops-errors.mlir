// What a plan must not be.
// RUN: graph-opt %s --split-input-file --verify-diagnostics

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{there is no kernel 'nothing'}}
  plan.dispatch @nothing chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{'main' is no kernel, but 'plan.function'}}
  plan.dispatch @main chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{kernel 'k' has no graph.chunks}}
  plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{kernel 'k' has graph.chunks = 1, not 2}}
  plan.dispatch @k chunks 2 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{kernel 'k' has graph.scratch = 0, not 64}}
  plan.dispatch @k chunks 1 scratch 64 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{expected at least 1 chunk}}
  plan.dispatch @k chunks 0 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{expected a size of scratch memory that is not negative}}
  plan.dispatch @k chunks 1 scratch -1 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{kernel 'k' has 1 inputs, not 2}}
  plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32], input 0[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs()
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{kernel 'k' has 1 results, not 0}}
  plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes()
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{kernel 'k' has 'tensor<8xf32>' among its inputs, 32 bytes, where input 0[0 to 16] has 16}}
  plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 16]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs()
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{kernel 'k' has 'tensor<8xf32>' among its results, 32 bytes, where arena[0 to 64] has 64}}
  plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(arena[0 to 64])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{kernel 'k' takes 'tensor<?xf32>', which is no tensor of numbers}}
  plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<?xf32>) -> tensor<8xf32>

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{writes input 0[0 to 32], which is no variable among the outputs}}
  plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(input 0[0 to 32] inplace 0)
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{writes weights[0 to 32], but only arenas, outputs and variables may be written}}
  plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(weights[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{result 0 is in place of input 1, but there are 1 inputs}}
  plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(arena[0 to 32] inplace 1)
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(arena[0 to 32])
  // expected-error @+1 {{result 0 is in place of input 0, but lies at arena[32 to 64], not arena[0 to 32]}}
  plan.dispatch @k after %0 chunks 1 scratch 0 reads(arena[0 to 32]) writes(arena[32 to 64] inplace 0)
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(arena[0 to 32])
  // expected-error @+1 {{writes arena[16 to 48] while it reads arena[0 to 32], not in place}}
  plan.dispatch @k after %0 chunks 1 scratch 0 reads(arena[0 to 32]) writes(arena[16 to 48])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{writes arena[16 to 48] and arena[0 to 32]}}
  plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(arena[0 to 32], arena[16 to 48])
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs()
    arena 96 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(arena[0 to 32])
  // expected-error @+1 {{kernel 'j' cannot write result 0 in place of input 0}}
  plan.dispatch @j after %0 chunks 1 scratch 0 reads(arena[0 to 32]) writes(arena[0 to 32] inplace 0)
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}
func.func private @j(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{accesses arena[80 to 112], but the arena has 96 bytes}}
  plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(arena[80 to 112])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{accesses input 0[16 to 48], but the input has 32 bytes}}
  plan.dispatch @k chunks 1 scratch 0 reads(input 0[16 to 48]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{accesses input 3[0 to 32], but @main has no input 3}}
  plan.dispatch @k chunks 1 scratch 0 reads(input 3[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{accesses output 1[0 to 32], but @main has no output 1}}
  plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 1[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{accesses weights[0 to 32], which is no weight}}
  plan.dispatch @k chunks 1 scratch 0 reads(weights[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{accesses weights[32 to 64], which is no weight}}
  plan.dispatch @k chunks 1 scratch 0 reads(weights[32 to 64]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}
plan.weight "w" at 64 : tensor<8xf32>

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{accesses weights[64 to 128], which is no weight}}
  plan.copy weights[64 to 128] to arena[0 to 64]
}
plan.weight "w" at 64 : tensor<8xf32>

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(arena[0 to 32])
  // expected-error @+1 {{reads arena[32 to 64], which no earlier step writes}}
  plan.dispatch @k after %0 chunks 1 scratch 0 reads(arena[32 to 64]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{reads output 0[0 to 32], which no earlier step writes}}
  plan.dispatch @k chunks 1 scratch 0 reads(output 0[0 to 32]) writes(arena[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-note @+1 {{the earlier step is here}}
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(arena[0 to 32])
  // expected-error @+1 {{may access arena[0 to 32] while an earlier step accesses arena[0 to 32], one of them writing}}
  plan.dispatch @k chunks 1 scratch 0 reads(arena[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(arena[0 to 32])
  // expected-note @+1 {{the earlier step is here}}
  %1 = plan.dispatch @k after %0 chunks 1 scratch 0 reads(arena[0 to 32]) writes(arena[32 to 64])
  // expected-error @+1 {{may access arena[0 to 32] while an earlier step accesses arena[0 to 32], one of them writing}}
  plan.dispatch @k after %0 chunks 1 scratch 0 reads(input 0[0 to 32]) writes(arena[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{copies 32 bytes to 16}}
  plan.copy input 0[0 to 32] to output 0[0 to 16]
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(arena[0 to 32])
  // expected-error @+1 {{copies between bytes that overlap}}
  plan.copy after %0 arena[0 to 32] to arena[16 to 48]
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{writes input 0[0 to 16], which is no variable among the outputs}}
  plan.copy input 0[16 to 32] to input 0[0 to 16]
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{is no step of a plan}}
  %0 = arith.constant 1 : i32
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{expected arena, weights, input, output, loop, device or device_weights}}
  plan.dispatch @k chunks 1 scratch 0 reads(stack[0 to 32]) writes(output 0[0 to 32])
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{expected offsets 0 <= begin <= end}}
  plan.dispatch @k chunks 1 scratch 0 reads(arena[32 to 0]) writes(output 0[0 to 32])
}

// -----

plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 96 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{use of undeclared SSA value name}}
  plan.dispatch @k after %9 chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}

// -----

// expected-error @+1 {{expected sizes that are not negative}}
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena -1 unplanned 0 lower_bound 0 {
}

// -----

// expected-error @+1 {{lies at the negative offset -64}}
plan.weight "w" at -64 : tensor<8xf32>

// -----

// expected-error @+1 {{expected a tensor of numbers, found 'tensor<8xindex>'}}
plan.weight "w" at 0 : tensor<8xindex>

// -----

plan.function @init
    // expected-error @+1 {{8xf32 takes 32 bytes, but 16 are referred to}}
    inputs("w" = #graph.external<"f", 0, 16> : tensor<8xf32>) outputs()
    arena 0 unplanned 0 lower_bound 0 {}

// -----

plan.function @main
    // expected-error @+1 {{expected a tensor with a static shape}}
    inputs("x": memref<8xf32>) outputs()
    arena 0 unplanned 0 lower_bound 0 {}

// -----

plan.function @main
    // expected-error @+1 {{expected a tensor of numbers with a static shape}}
    inputs("x": tensor<?xf32>) outputs()
    arena 0 unplanned 0 lower_bound 0 {}
