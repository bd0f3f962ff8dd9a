// RUN: graph-opt %s --plan-memory | FileCheck %s
// RUN: graph-opt %s --plan-memory | graph-opt | FileCheck %s

// A variable begins as a weight or, if that is zero, as zeros.
// CHECK: plan.weight "w" at 0 : tensor<8xf32>
// CHECK: plan.variable "w" = weights[0 to 32] : tensor<8xf32> trainable
// CHECK-NEXT: plan.variable "m" : tensor<8xf32>
// CHECK-NEXT: plan.variable "count" : tensor<i64>
graph.variable "w" = dense<2.0> : tensor<8xf32> trainable
graph.variable "m" = dense<0.0> : tensor<8xf32>
graph.variable "count" = dense<0> : tensor<i64>
func.func @init(%0: tensor<8xf32> {graph.source = dense<2.0> : tensor<8xf32>}) -> (tensor<8xf32> {graph.name = "w"}) {
  return %0 : tensor<8xf32>
}

// The next value is written in the place of the old one, as soon as nothing else
// reads that: the update of w moves before the last dispatch, which lets the
// gradient die, but behind the one that reads w.
// CHECK-LABEL: plan.function @in_place
// CHECK-NEXT: inputs("x": tensor<8xf32>,
// CHECK-NEXT:   "w": tensor<8xf32> variable)
// CHECK-NEXT: outputs("y": tensor<8xf32>,
// CHECK-NEXT:   "w": tensor<8xf32> variable)
// CHECK-NEXT: arena 128 unplanned 192 lower_bound 128 {
// CHECK-NEXT: %[[G:.*]] = plan.dispatch @relu chunks 1 scratch 0 reads(input 0[0 to 32]) writes(arena[{{.*}}])
// CHECK-NEXT: %[[P:.*]] = plan.dispatch @add {{.*}}reads(input 0[0 to 32], input 1[0 to 32])
// CHECK-NEXT: plan.dispatch @add after %[[P]] chunks 1 scratch 0 reads(input 1[0 to 32], arena[{{.*}}]) writes(input 1[0 to 32] inplace 0)
// CHECK: plan.dispatch @relu {{.*}}writes(output 0[0 to 32])
// CHECK-NEXT: }
func.func @in_place(%x: tensor<8xf32> {graph.name = "x"}, %w: tensor<8xf32> {graph.variable = "w"})
    -> (tensor<8xf32> {graph.name = "y"}, tensor<8xf32> {graph.variable = "w"}) {
  %g = graph.dispatch @relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %p = graph.dispatch @add(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %q = graph.dispatch @relu(%p) : (tensor<8xf32>) -> tensor<8xf32>
  %y = graph.dispatch @relu(%q) : (tensor<8xf32>) -> tensor<8xf32>
  %next = graph.dispatch @add(%w, %g) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %y, %next : tensor<8xf32>, tensor<8xf32>
}

// What is computed for an update alone comes with it.
// CHECK-LABEL: plan.function @with_source
// CHECK: %[[P:.*]] = plan.dispatch @add {{.*}}reads(input 0[0 to 32], input 1[0 to 32])
// CHECK-NEXT: %[[G:.*]] = plan.dispatch @relu after %[[P]]
// CHECK-NEXT: plan.dispatch @add after %[[G]] {{.*}}writes(input 1[0 to 32] inplace 0)
// CHECK-NEXT: plan.dispatch @relu
// CHECK-NEXT: plan.dispatch @relu {{.*}}writes(output 0[0 to 32])
func.func @with_source(%x: tensor<8xf32> {graph.name = "x"}, %w: tensor<8xf32> {graph.variable = "w"})
    -> (tensor<8xf32> {graph.name = "y"}, tensor<8xf32> {graph.variable = "w"}) {
  %p = graph.dispatch @add(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %q = graph.dispatch @relu(%p) : (tensor<8xf32>) -> tensor<8xf32>
  %y = graph.dispatch @relu(%q) : (tensor<8xf32>) -> tensor<8xf32>
  %g = graph.dispatch @relu(%p) : (tensor<8xf32>) -> tensor<8xf32>
  %next = graph.dispatch @add(%w, %g) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %y, %next : tensor<8xf32>, tensor<8xf32>
}

// A kernel that reads the old value elsewhere than at the index that it writes
// has its result copied in the end.
// CHECK-LABEL: plan.function @not_in_place
// CHECK: arena 64 unplanned 64 lower_bound 64 {
// CHECK-NEXT: %[[R:.*]] = plan.dispatch @reverse {{.*}}reads(input 0[0 to 32]) writes(arena[0 to 32])
// CHECK-NEXT: plan.copy after %[[R]] arena[0 to 32] to input 0[0 to 32]
func.func @not_in_place(%w: tensor<8xf32> {graph.variable = "w"}) -> (tensor<8xf32> {graph.variable = "w"}) {
  %next = graph.dispatch @reverse(%w) : (tensor<8xf32>) -> tensor<8xf32>
  return %next : tensor<8xf32>
}

// The old value is returned: it is copied out before the next one comes.
// CHECK-LABEL: plan.function @old_value
// CHECK: plan.dispatch @relu {{.*}}reads(input 0[0 to 32]) writes(arena[0 to 32])
// CHECK-NEXT: %[[OLD:.*]] = plan.copy input 0[0 to 32] to output 0[0 to 32]
// CHECK-NEXT: plan.copy after %[[OLD]] arena[0 to 32] to input 0[0 to 32]
func.func @old_value(%w: tensor<8xf32> {graph.variable = "w"})
    -> (tensor<8xf32> {graph.name = "old"}, tensor<8xf32> {graph.variable = "w"}) {
  %next = graph.dispatch @relu(%w) : (tensor<8xf32>) -> tensor<8xf32>
  return %w, %next : tensor<8xf32>, tensor<8xf32>
}

// The new value is returned, too.
// CHECK-LABEL: plan.function @new_value
// CHECK: %[[NEW:.*]] = plan.dispatch @relu {{.*}}writes(input 0[0 to 32] inplace 0)
// CHECK-NEXT: plan.copy after %[[NEW]] input 0[0 to 32] to output 1[0 to 32]
func.func @new_value(%w: tensor<8xf32> {graph.variable = "w"})
    -> (tensor<8xf32> {graph.variable = "w"}, tensor<8xf32> {graph.name = "new"}) {
  %next = graph.dispatch @relu(%w) : (tensor<8xf32>) -> tensor<8xf32>
  return %next, %next : tensor<8xf32>, tensor<8xf32>
}

// Variables that change places go by way of the arena; one that stays what it is
// costs nothing.
// CHECK-LABEL: plan.function @exchange
// CHECK-NEXT: inputs("w": tensor<8xf32> variable,
// CHECK-NEXT:   "m": tensor<8xf32> variable,
// CHECK-NEXT:   "count": tensor<i64> variable)
// CHECK: %[[A:.*]] = plan.copy input 1[0 to 32] to arena[0 to 32]
// CHECK-NEXT: %[[B:.*]] = plan.copy after %[[A]] input 0[0 to 32] to input 1[0 to 32]
// CHECK-NEXT: plan.copy after %[[B]] arena[0 to 32] to input 0[0 to 32]
// CHECK-NEXT: }
func.func @exchange(%w: tensor<8xf32> {graph.variable = "w"}, %m: tensor<8xf32> {graph.variable = "m"}, %c: tensor<i64> {graph.variable = "count"})
    -> (tensor<8xf32> {graph.variable = "w"}, tensor<8xf32> {graph.variable = "m"}, tensor<i64> {graph.variable = "count"}) {
  return %m, %w, %c : tensor<8xf32>, tensor<8xf32>, tensor<i64>
}

func.func private @relu(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xf32>
}
func.func private @add(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>, array<i64: 1, 0>]} {
  return %x : tensor<8xf32>
}
func.func private @reverse(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<8xf32>
}
