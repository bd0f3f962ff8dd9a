// Results that nothing computes: constants, inputs, and each of them twice.

// RUN: graph-compare %s --runs=1 --verify --json | FileCheck %s
// CHECK: "kernels": 1
// CHECK: "max_abs_error": 0.0
// CHECK: "max_rel_error": 0.0

// RUN: echo 'func.func @main(%%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<6xf32> {graph.name = "y"}) {' > %t.mlir
// RUN: echo '  %%0 = graph.reshape %%x : tensor<2x3xf32> to tensor<6xf32>' >> %t.mlir
// RUN: echo '  return %%0 : tensor<6xf32> }' >> %t.mlir
// RUN: graph-compare %t.mlir --runs=1 --verify | FileCheck %s --check-prefix=VIEW
// VIEW: kernel calls 0 {{[0-9]}}
// VIEW: against the reference: 0.00E+00

func.func @main(%x: tensor<2xf32> {graph.name = "x"})
    -> (tensor<3xf32> {graph.name = "a"}, tensor<3xf32> {graph.name = "b"},
        tensor<3x1xi32> {graph.name = "c"}, tensor<2x1xf32> {graph.name = "d"},
        tensor<2xf32> {graph.name = "e"}) {
  %0 = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %1 = graph.constant dense<[4, 5, 6]> : tensor<3xi32>
  %2 = graph.reshape %1 : tensor<3xi32> to tensor<3x1xi32>
  %3 = graph.reshape %x : tensor<2xf32> to tensor<2x1xf32>
  %4 = graph.neg %x : tensor<2xf32>
  return %0, %0, %2, %3, %4 : tensor<3xf32>, tensor<3xf32>, tensor<3x1xi32>, tensor<2x1xf32>, tensor<2xf32>
}
