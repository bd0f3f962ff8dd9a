// Parts of tensors as rows of bytes: who has which, and what is written together.
// RUN: graph-opt %s | FileCheck %s
// RUN: graph-opt %s | graph-opt | FileCheck %s
// RUN: graph-opt %s --emit-bytecode | graph-opt | FileCheck %s

// Two steps write pieces whose rows lie between one another, at the same time;
// a third one reads both, and a fourth one piece.
// CHECK-LABEL: plan.function @inner
// CHECK: %[[A:.*]] = plan.dispatch @left chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[0 to 88, 24 of 32])
// CHECK-NEXT: %[[B:.*]] = plan.dispatch @right chunks 1 scratch 0 reads(input 1[0 to 24]) writes(arena[24 to 96, 8 of 32])
// CHECK-NEXT: plan.dispatch @whole after %[[B]] chunks 1 scratch 0 reads(arena[0 to 96]) writes(output 0[0 to 96])
// CHECK-NEXT: plan.dispatch @part chunks 1 scratch 0 reads(arena[24 to 96, 8 of 32]) writes(output 1[0 to 24])
plan.function @inner
    inputs("x": tensor<3x8xf32>, "z": tensor<3x2xf32>)
    outputs("y": tensor<3x8xf32>, "w": tensor<3x2xf32>)
    arena 128 unplanned 128 lower_bound 128 {
  %0 = plan.dispatch @left chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[0 to 88, 24 of 32])
  %1 = plan.dispatch @right chunks 1 scratch 0 reads(input 1[0 to 24]) writes(arena[24 to 96, 8 of 32])
  %2 = plan.dispatch @whole after %1 chunks 1 scratch 0 reads(arena[0 to 96]) writes(output 0[0 to 96])
  %3 = plan.dispatch @part chunks 1 scratch 0 reads(arena[24 to 96, 8 of 32]) writes(output 1[0 to 24])
}

// Contiguous pieces, in any order, are read as one.
// CHECK-LABEL: plan.function @outer
plan.function @outer
    inputs("x": tensor<3x8xf32>) outputs("y": tensor<6x8xf32>)
    arena 192 unplanned 192 lower_bound 192 {
  %0 = plan.dispatch @whole chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[96 to 192])
  %1 = plan.dispatch @whole chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[0 to 96])
  %2 = plan.copy after %1 arena[0 to 192] to output 0[0 to 192]
}

// A piece of three is read with its neighbour, as rows, while the third is
// written; and rows of the whole before another tensor is written where they
// are not.
// CHECK-LABEL: plan.function @chain
plan.function @chain
    inputs("x": tensor<3x2xf32>) outputs("y": tensor<3x6xf32>, "z": tensor<3x8xf32>)
    arena 128 unplanned 128 lower_bound 128 {
  %0 = plan.dispatch @right chunks 1 scratch 0 reads(input 0[0 to 24]) writes(arena[0 to 72, 8 of 32])
  %1 = plan.dispatch @right chunks 1 scratch 0 reads(input 0[0 to 24]) writes(arena[16 to 88, 8 of 32])
  %2 = plan.dispatch @right chunks 1 scratch 0 reads(input 0[0 to 24]) writes(arena[8 to 80, 8 of 32])
  %3 = plan.dispatch @dense after %2 chunks 1 scratch 0 reads(arena[0 to 88, 24 of 32]) writes(output 0[0 to 72])
  %4 = plan.dispatch @right chunks 1 scratch 0 reads(input 0[0 to 24]) writes(arena[24 to 96, 8 of 32])
  %5 = plan.copy after %4 arena[0 to 96] to output 1[0 to 96]
}

// What was written in rows of one pitch that leave nothing out is read in rows of
// another one: shorter ones, and longer ones.
// CHECK-LABEL: plan.function @pitches
plan.function @pitches
    inputs("x": tensor<3x8xf32>, "z": tensor<3x2xf32>) outputs("w": tensor<6x2xf32>, "y": tensor<2x6xf32>)
    arena 96 unplanned 96 lower_bound 96 {
  %0 = plan.dispatch @left chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[0 to 88, 24 of 32])
  %1 = plan.dispatch @right chunks 1 scratch 0 reads(input 1[0 to 24]) writes(arena[24 to 96, 8 of 32])
  %2 = plan.dispatch @short after %1 chunks 1 scratch 0 reads(arena[8 to 96, 8 of 16]) writes(output 0[0 to 48])
  %3 = plan.dispatch @long chunks 1 scratch 0 reads(arena[16 to 88, 24 of 48]) writes(output 1[0 to 48])
}

// What has no bytes is nowhere: within what another step writes at the same time.
// CHECK-LABEL: plan.function @empty
plan.function @empty
    inputs("x": tensor<3x8xf32>, "e": tensor<3x0xf32>)
    outputs("y": tensor<3x8xf32>, "w": tensor<3x0xf32>)
    arena 96 unplanned 96 lower_bound 96 {
  %0 = plan.dispatch @none chunks 1 scratch 0 reads(input 1[0 to 0]) writes(arena[32 to 32])
  %1 = plan.dispatch @whole chunks 1 scratch 0 reads(input 0[0 to 96]) writes(arena[0 to 96])
  %2 = plan.dispatch @none after %0 chunks 1 scratch 0 reads(arena[32 to 32]) writes(output 1[0 to 0])
  %3 = plan.copy after %1 arena[0 to 96] to output 0[0 to 96]
}

func.func private @none(%x: tensor<3x0xf32>) -> tensor<3x0xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @left(%x: tensor<3x8xf32>) -> (tensor<3x6xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @right(%x: tensor<3x2xf32>) -> (tensor<3x2xf32> {graph.strides = array<i64: 8, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @whole(%x: tensor<3x8xf32>) -> tensor<3x8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @part(%x: tensor<3x2xf32> {graph.strides = array<i64: 8, 1>}) -> tensor<3x2xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @dense(%x: tensor<3x6xf32> {graph.strides = array<i64: 8, 1>}) -> tensor<3x6xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @short(%x: tensor<6x2xf32> {graph.strides = array<i64: 4, 1>}) -> tensor<6x2xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
func.func private @long(%x: tensor<2x6xf32> {graph.strides = array<i64: 12, 1>}) -> tensor<2x6xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}
