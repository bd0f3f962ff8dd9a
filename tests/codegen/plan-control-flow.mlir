// RUN: graph-opt %s --plan-memory | FileCheck %s
// RUN: graph-opt %s --plan-memory | graph-opt | FileCheck %s

// The sides of a branch write its result, which is an output, themselves.
// CHECK-LABEL: plan.function @main
// CHECK: arena 128 unplanned 320 lower_bound 128 {
// CHECK-NEXT: plan.if input 0[0 to 1]
// CHECK-NEXT: %[[RELU:.*]] = plan.dispatch @relu chunks 1 scratch 0 reads(input 1[0 to 32]) writes(arena[0 to 32])
// CHECK-NEXT: plan.dispatch @add after %[[RELU]] chunks 1 scratch 0 reads(arena[0 to 32], input 1[0 to 32]) writes(output 0[0 to 32])
// CHECK-NEXT: plan.else
// CHECK-NEXT: %[[ELSE:.*]] = plan.copy input 1[0 to 32] to output 0[0 to 32]
// CHECK-NEXT: plan.end_if

// The first carried value is written where the last one will be. Rows are views,
// and zeros if they may not be reached. Loops of single chunks are one worker's;
// those that need nothing of each other are neighbours, and neither waits for the
// other.
// CHECK-NEXT: plan.dispatch @relu after %[[ELSE]] chunks 1 scratch 0 reads(output 0[0 to 32]) writes(output 1[0 to 32])
// CHECK-NEXT: %[[ZERO:.*]] = plan.zero output 2[0 to 320]
// What is not computed in place is copied.
// CHECK-NEXT: %[[COPY:.*]] = plan.copy input 1[0 to 32] to output 3[0 to 32]
// CHECK-NEXT: plan.loop after %[[ZERO]] length 10 count input 3[0 to 8] alone
// CHECK-NEXT: plan.dispatch @add chunks 1 scratch 0 reads(output 1[0 to 32], input 2[0 to 32] step (32)) writes(output 1[0 to 32] inplace 0)
// CHECK-NEXT: plan.copy output 1[0 to 32] to output 2[0 to 32] step (32)
// CHECK-NEXT: plan.end_loop

// CHECK-NEXT: plan.loop after %[[COPY]] alone
// CHECK-NEXT: plan.dispatch @positive chunks 1 scratch 0 reads(output 3[0 to 32]) writes(arena[64 to 65])
// CHECK-NEXT: plan.leave unless arena[64 to 65]
// CHECK-NEXT: plan.dispatch @step chunks 1 scratch 0 reads(output 3[0 to 32]) writes(arena[0 to 32])
// CHECK-NEXT: plan.copy arena[0 to 32] to output 3[0 to 32]
// CHECK-NEXT: %[[WHILE:.*]] = plan.end_loop

// Two values that change places need a third one.
// CHECK-NEXT: plan.copy input 1[0 to 32] to output 4[0 to 32]
// CHECK-NEXT: %[[OTHER:.*]] = plan.copy after %[[WHILE]] output 3[0 to 32] to arena[0 to 32]
// CHECK-NEXT: plan.loop after %[[OTHER]] length 3 alone
// CHECK-NEXT: plan.copy arena[0 to 32] to arena[64 to 96]
// CHECK-NEXT: plan.copy output 4[0 to 32] to arena[0 to 32]
// CHECK-NEXT: plan.copy arena[64 to 96] to output 4[0 to 32]
// CHECK-NEXT: plan.end_loop
// CHECK-NEXT: }

func.func @main(%c: tensor<i1> {graph.name = "c"}, %x: tensor<8xf32> {graph.name = "x"},
                %xs: tensor<10x8xf32> {graph.name = "xs"}, %n: tensor<i64> {graph.name = "n"})
    -> (tensor<8xf32> {graph.name = "y"}, tensor<8xf32> {graph.name = "sum"},
        tensor<10x8xf32> {graph.name = "sums"}, tensor<8xf32> {graph.name = "last"}, tensor<8xf32> {graph.name = "swapped"}) {
  %0 = graph.if %c : (tensor<8xf32>) {
    %1 = graph.dispatch @relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %2 = graph.dispatch @add(%1, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    graph.yield %2 : tensor<8xf32>
  } else {
    graph.yield %x : tensor<8xf32>
  }
  %first = graph.dispatch @relu(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %3:2 = graph.scan %i length 10 trip_count %n carry (%a = %first) over (%r = %xs)
      : (tensor<8xf32>, tensor<10x8xf32>) -> (tensor<8xf32>, tensor<10x8xf32>) {
    %4 = graph.dispatch @add(%a, %r) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    graph.yield %4, %4 : tensor<8xf32>, tensor<8xf32>
  }
  %5 = graph.while (%p = %x) : (tensor<8xf32>) {
    %6 = graph.dispatch @positive(%p) : (tensor<8xf32>) -> tensor<i1>
    graph.condition %6
  } do (%p) {
    %7 = graph.dispatch @step(%p) : (tensor<8xf32>) -> tensor<8xf32>
    graph.yield %7 : tensor<8xf32>
  }
  %8:2 = graph.scan %i length 3 carry (%a = %x, %b = %5) over ()
      : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    graph.yield %b, %a : tensor<8xf32>, tensor<8xf32>
  }
  return %0, %3#0, %3#1, %5, %8#0 : tensor<8xf32>, tensor<8xf32>, tensor<10x8xf32>, tensor<8xf32>, tensor<8xf32>
}

func.func private @relu(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}
func.func private @add(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}
func.func private @step(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<8xf32>
}
func.func private @positive(%x: tensor<8xf32>) -> tensor<i1>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %0 = arith.constant dense<true> : tensor<i1>
  return %0 : tensor<i1>
}
