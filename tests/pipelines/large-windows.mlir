// A window of far more elements than there are costs no more than they do.

// RUN: graph-compare %s --runs=1 --verify --json | FileCheck %s
// CHECK: "max_abs_error"

func.func @main(%x: tensor<2x3x5xf32> {graph.name = "x"})
    -> (tensor<2x3x5xf32> {graph.name = "y"}) {
  %0 = graph.lrn %x size 2147483648 alpha 1.0e+09 beta 7.5e-01 bias 1.0
       channels_first : tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}
