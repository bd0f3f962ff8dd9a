// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies | FileCheck %s --check-prefix=PLAN
// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s

// Blocks of 64 columns, each with all updates; the result may lie where x does.
// PLAN-LABEL: func.func private @scatter_0(
// PLAN-SAME:      graph.inplace = [array<i64: 0, 0>], graph.plan = #cpu.scatter<block = 64, units = 1>

// x is copied unless it does. Then each update is read once, in order. The question
// whether it is for an element is one about two equal numbers, which LLVM answers.
// CHECK-LABEL: func.func @scatter_0(
// CHECK:         scf.for
// CHECK:           memref.extract_aligned_pointer_as_index
// CHECK:           memref.extract_aligned_pointer_as_index
// CHECK:           scf.if
// CHECK:             vector.store
// CHECK:           scf.for {{.*}} to %c90
// CHECK:             arith.maxsi
// CHECK:             %[[POSITION:.*]] = arith.index_cast {{.*}} : index to i64
// CHECK:             scf.for
// CHECK:               vector.load
// CHECK:               arith.cmpi eq, %[[POSITION]], %[[POSITION]]
// CHECK:               arith.addf
// CHECK:               vector.store

module attributes {graph.cpu = "x86-64-v3"} {
  func.func @main(%x: tensor<40x192xf32> {graph.name = "x"}, %i: tensor<90xi64> {graph.name = "i"}, %u: tensor<90x192xf32> {graph.name = "u"}) -> (tensor<40x192xf32> {graph.name = "y"}) {
    %0 = graph.kernel (%a = %x, %b = %i, %c = %u) : (tensor<40x192xf32>, tensor<90xi64>, tensor<90x192xf32>) -> tensor<40x192xf32> {
      %y = graph.scatter add %a, %b, %c axis 0 : tensor<40x192xf32>, tensor<90xi64>, tensor<90x192xf32>
      graph.yield %y : tensor<40x192xf32>
    }
    return %0 : tensor<40x192xf32>
  }
}
