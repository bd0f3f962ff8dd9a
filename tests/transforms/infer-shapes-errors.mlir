// RUN: graph-opt %s --split-input-file --infer-shapes=shapes=x=2x4 --verify-diagnostics

func.func @matmul(%x: tensor<2x3xf32> {graph.name = "x"}, %w: tensor<3x3xf32> {graph.name = "w"}) -> tensor<2x3xf32> {
  // expected-error@+1 {{graph.matmul: inner dimensions 4 and 3 differ: a is 2x4xf32, b is 3x3xf32}}
  %0 = graph.matmul %x, %w : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @reshape(%x: tensor<2x3xf32> {graph.name = "x"}) -> tensor<2x3xf32> {
  // expected-error@+1 {{graph.reshape: 2x4xf32 cannot become 2x3xf32, also with another leading dimension; the shape is written in the model}}
  %0 = graph.reshape %x : tensor<2x3xf32> to tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @broadcast(%x: tensor<1x3xf32> {graph.name = "x"}) -> tensor<5x3xf32> {
  // expected-error@+1 {{graph.broadcast: 2x4xf32 does not broadcast to 5x3xf32; the shape is written in the model}}
  %0 = graph.broadcast %x : tensor<1x3xf32> to tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

// -----

// expected-error@+1 {{the model has no input 'x' to give a shape; its inputs are: a, b}}
func.func @unknown(%a: tensor<1xf32> {graph.name = "a"}, %b: tensor<1xf32> {graph.name = "b"}) {
  return
}

// -----

func.func @branches(%x: tensor<2x3xf32> {graph.name = "x"}, %z: tensor<2x3xf32>, %c: tensor<i1>) -> tensor<2x3xf32> {
  // expected-error@+1 {{graph.if: a result of the second branch has the shape 2x3xf32, expected 2x4xf32}}
  %0 = graph.if %c : (tensor<2x3xf32>) {
    graph.yield %x : tensor<2x3xf32>
  } else {
    graph.yield %z : tensor<2x3xf32>
  }
  return %0 : tensor<2x3xf32>
}

// -----

func.func @carried(%x: tensor<2x3xf32> {graph.name = "x"}, %z: tensor<2x3xf32>, %c: tensor<i1>) -> tensor<2x3xf32> {
  // expected-error@+1 {{graph.while: the next value of a carried one has the shape 2x4xf32, expected 2x3xf32}}
  %0 = graph.while (%a = %z) : (tensor<2x3xf32>) {
    graph.condition %c
  } do (%a) {
    graph.yield %x : tensor<2x3xf32>
  }
  return %0 : tensor<2x3xf32>
}

// -----

func.func @rows(%x: tensor<3x3xf32> {graph.name = "x"}) -> tensor<3x3xf32> {
  // expected-error@+1 {{graph.scan: a tensor of rows has the shape 2x4xf32, expected 3x4xf32}}
  %0 = graph.scan %i length 3 over (%r = %x) : (tensor<3x3xf32>) -> (tensor<3x3xf32>) {
    %1 = graph.exp %r : tensor<3xf32>
    graph.yield %1 : tensor<3xf32>
  }
  return %0 : tensor<3x3xf32>
}

// -----

func.func @scatter(%x: tensor<2x3xf32> {graph.name = "x"}, %i: tensor<5xi64> {graph.name = "i"}, %u: tensor<5x3xf32> {graph.name = "u"}) -> tensor<2x3xf32> {
  // expected-error@+1 {{graph.scatter: updates must be 5x4xf32, found 5x3xf32}}
  %0 = graph.scatter add %x, %i, %u axis 0 : tensor<2x3xf32>, tensor<5xi64>, tensor<5x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @scatter_elements(%x: tensor<3x3xf32> {graph.name = "x"}, %i: tensor<3x5xi64> {graph.name = "i"}, %u: tensor<3x5xf32> {graph.name = "u"}) -> tensor<3x3xf32> {
  // expected-error@+1 {{graph.scatter_elements: indices 3x5xi64 do not fit into 2x4xf32 beside axis 1}}
  %0 = graph.scatter_elements assign %x, %i, %u axis 1 : tensor<3x3xf32>, tensor<3x5xi64>, tensor<3x5xf32>
  return %0 : tensor<3x3xf32>
}

// -----

func.func @scatter_nd(%x: tensor<2x3xf32> {graph.name = "x"}, %i: tensor<5x1xi64> {graph.name = "i"}, %u: tensor<5x3xf32> {graph.name = "u"}) -> tensor<2x3xf32> {
  // expected-error@+1 {{graph.scatter_nd: updates must be 5x4xf32, found 5x3xf32}}
  %0 = graph.scatter_nd max %x, %i, %u : tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>
  return %0 : tensor<2x3xf32>
}
