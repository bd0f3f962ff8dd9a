// A concatenation of tensors without elements, one of which is computed: its sum
// is zeros, to which there is something to add.

// RUN: graph-compare %s --runs=1 --verify | FileCheck %s
// CHECK: against the reference: 0.00E+00

func.func @main(%x: tensor<1x0x20xf32> {graph.name = "x"}, %y: tensor<1x0x20xf32> {graph.name = "y"},
                %w: tensor<1x40xf32> {graph.name = "w"})
    -> (tensor<1x40xf32> {graph.name = "z"}) {
  %0 = graph.cumsum %y axis 0 : tensor<1x0x20xf32>
  %1 = graph.concat %x, %0 axis 2 : (tensor<1x0x20xf32>, tensor<1x0x20xf32>) -> tensor<1x0x40xf32>
  %2 = graph.reduce sum %1 axes [1] : tensor<1x0x40xf32> -> tensor<1x40xf32>
  %3 = graph.add %2, %w : tensor<1x40xf32>, tensor<1x40xf32> -> tensor<1x40xf32>
  return %3 : tensor<1x40xf32>
}
