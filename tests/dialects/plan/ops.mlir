// Printed and read again, the dialect stays what it is.
// RUN: graph-opt %s | FileCheck %s
// RUN: graph-opt %s | graph-opt | FileCheck %s
// RUN: graph-opt %s --mlir-print-op-generic | graph-opt | FileCheck %s
// RUN: graph-opt %s --emit-bytecode | graph-opt | FileCheck %s

// CHECK: plan.weight "conv \22w\22" at 64 : tensor<2x4xf16>
plan.weight "conv \22w\22" at 64 : tensor<2x4xf16>

// CHECK: plan.function @nothing
// CHECK-NEXT: inputs()
// CHECK-NEXT: outputs()
// CHECK-NEXT: arena 0 unplanned 0 lower_bound 0 {
// CHECK-NEXT: }
plan.function @nothing inputs() outputs() arena 0 unplanned 0 lower_bound 0 {}

// Two steps may run at the same time if neither writes what the other accesses.
// CHECK: plan.function @main
// CHECK-NEXT: inputs("x": tensor<8xui8>,
// CHECK-NEXT:   "c" = dense<true> : tensor<8xi1>)
// CHECK-NEXT: outputs("y": tensor<8xi8>)
// CHECK-NEXT: arena 128 unplanned 192 lower_bound 64 attributes {note = "attributes stay"} {
// CHECK-NEXT: %[[S0:.*]] = plan.dispatch @k chunks 3 scratch 64 reads(input 0[0 to 8]) writes(arena[0 to 8])
// CHECK-NEXT: %[[S1:.*]] = plan.dispatch @k chunks 3 scratch 64 reads(input 1[0 to 8]) writes(arena[64 to 72])
// CHECK-NEXT: %[[S2:.*]] = plan.dispatch @k after %[[S0]] chunks 3 scratch 64 reads(arena[0 to 8]) writes(arena[0 to 8] inplace 0)
// CHECK-NEXT: %[[S3:.*]] = plan.copy after %[[S2]] arena[0 to 8] to output 0[0 to 8]
plan.function @main
    inputs("x": tensor<8xui8>, "c" = dense<true> : tensor<8xi1>)
    outputs("y": tensor<8xi8>)
    arena 128 unplanned 192 lower_bound 64 attributes {note = "attributes stay"} {
  %0 = plan.dispatch @k chunks 3 scratch 64 reads(input 0[0 to 8]) writes(arena[0 to 8])
  %1 = plan.dispatch @k chunks 3 scratch 64 reads(input 1[0 to 8]) writes(arena[64 to 72])
  %2 = plan.dispatch @k after %0 chunks 3 scratch 64 reads(arena[0 to 8]) writes(arena[0 to 8] inplace 0)
  %3 = plan.copy after %2 arena[0 to 8] to output 0[0 to 8]
}

func.func private @k(%x: tensor<8xi8>) -> tensor<8xi8>
    attributes {graph.chunks = 3 : i64, graph.scratch = 64 : i64, graph.inplace = [array<i64: 0, 0>]} {
  return %x : tensor<8xi8>
}
