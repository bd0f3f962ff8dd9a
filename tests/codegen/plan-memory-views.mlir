// Parts of tensors lie in one another.
// RUN: graph-opt %s --plan-memory | FileCheck %s

// The pieces of a concatenation are written at the same time, in rows; a part of
// a piece is read there, once its piece is written. What is returned is written
// to the output, as parts of it, too.
// CHECK-LABEL: plan.function @main
// CHECK: arena 128 unplanned 128 lower_bound 128 {
// CHECK-NEXT: %[[A:.*]] = plan.dispatch @piece chunks 1 scratch 0 reads(input 0[0 to 64]) writes(arena[0 to 96, 32 of 64])
// CHECK-NEXT: %[[B:.*]] = plan.dispatch @piece chunks 1 scratch 0 reads(input 1[0 to 64]) writes(arena[32 to 128, 32 of 64])
// CHECK-NEXT: plan.dispatch @half after %[[A]] chunks 1 scratch 0 reads(arena[16 to 96, 16 of 64]) writes(output 0[0 to 32])
// CHECK-NEXT: plan.dispatch @whole after %[[B]] chunks 1 scratch 0 reads(arena[0 to 128]) writes(output 1[0 to 128])
// CHECK-NEXT: plan.dispatch @whole chunks 1 scratch 0 reads(arena[0 to 128]) writes(output 1[128 to 256])
// CHECK-NEXT: plan.dispatch @row chunks 1 scratch 0 reads(arena[64 to 128]) writes(output 2[0 to 64])
func.func @main(%x: tensor<2x8xf32> {graph.name = "x"}, %z: tensor<2x8xf32> {graph.name = "z"})
    -> (tensor<2x4xf32> {graph.name = "half"}, tensor<64xf32> {graph.name = "twice"}, tensor<1x16xf32> {graph.name = "row"}) {
  %0 = graph.dispatch @piece(%x) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = graph.dispatch @piece(%z) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = graph.slice %0 starts [0, 4] sizes [2, 4] steps [1, 1] : tensor<2x8xf32> -> tensor<2x4xf32>
  %3 = graph.dispatch @half(%2) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = graph.concat %0, %1 axis 1 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x16xf32>
  %5 = graph.dispatch @whole(%4) : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %6 = graph.dispatch @whole(%4) : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %7 = graph.concat %5, %6 axis 0 : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  %8 = graph.reshape %7 : tensor<4x16xf32> to tensor<64xf32>
  %9 = graph.slice %4 starts [1, 0] sizes [1, 16] steps [1, 1] : tensor<2x16xf32> -> tensor<1x16xf32>
  %10 = graph.dispatch @row(%9) : (tensor<1x16xf32>) -> tensor<1x16xf32>
  return %3, %8, %10 : tensor<2x4xf32>, tensor<64xf32>, tensor<1x16xf32>
}

func.func private @piece(%x: tensor<2x8xf32>) -> (tensor<2x8xf32> {graph.strides = array<i64: 16, 1>})
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<2x8xf32>
}
func.func private @half(%x: tensor<2x4xf32> {graph.strides = array<i64: 16, 1>}) -> tensor<2x4xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<2x4xf32>
}
func.func private @whole(%x: tensor<2x16xf32>) -> tensor<2x16xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<2x16xf32>
}
func.func private @row(%x: tensor<1x16xf32>) -> tensor<1x16xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<1x16xf32>
}
