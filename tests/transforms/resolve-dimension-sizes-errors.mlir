// RUN: graph-opt %s --split-input-file --resolve-dimension-sizes --verify-diagnostics

func.func @no_rule(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %n: tensor<i64>)
    -> (tensor<1x4x6x6xf32> {graph.name = "y"}) {
  %0 = graph.set_dimension_size %x, %n dimension 2 : tensor<1x3x8x8xf32>
  // expected-error@+1 {{graph.conv: the run decides the size of dimension 2 of operand 0 (1x3x8x8xf32), and it has no rule for that}}
  %1 = graph.conv %0, %w strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1]
      groups 1 channels_first : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x6x6xf32>
  return %1 : tensor<1x4x6x6xf32>
}

// -----

func.func @different(%x: tensor<8xf32>, %n: tensor<i64>, %m: tensor<i64>)
    -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.set_dimension_size %x, %n dimension 0 : tensor<8xf32>
  %1 = graph.set_dimension_size %x, %m dimension 0 : tensor<8xf32>
  // expected-error@+1 {{graph.add: the run decides the size of dimension 0 of operand 1 (8xf32), and another size is that of another operand: whether they are the same is not known}}
  %2 = graph.add %0, %1 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

func.func @carried(%x: tensor<8xf32>, %n: tensor<i64>)
    -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.set_dimension_size %x, %n dimension 0 : tensor<8xf32>
  // expected-error@+1 {{graph.scan: the run decides the size of dimension 0 of carried value 0 (8xf32); what a loop carries or stacks keeps its shape}}
  %1 = graph.scan %i length 4 carry (%a = %0) : (tensor<8xf32>) -> (tensor<8xf32>) {
    graph.yield %a : tensor<8xf32>
  }
  return %1 : tensor<8xf32>
}
