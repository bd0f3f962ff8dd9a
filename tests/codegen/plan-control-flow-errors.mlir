// RUN: graph-opt %s --plan-memory --split-input-file --verify-diagnostics

// Rows follow each other in memory; these columns do not.
func.func @main(%x: tensor<4x8xf32> {graph.name = "x"}) -> (tensor<4x2xf32> {graph.name = "y"}) {
  %0 = graph.slice %x starts [0, 2] sizes [4, 2] steps [1, 1] : tensor<4x8xf32> -> tensor<4x2xf32>
  // expected-error @+1 {{what it runs over is a part of a tensor that is not contiguous}}
  %y = graph.scan %i length 4 carry () over (%r = %0) : (tensor<4x2xf32>) -> (tensor<4x2xf32>) {
    graph.yield %r : tensor<2xf32>
  }
  return %y : tensor<4x2xf32>
}

// -----

func.func @main(%c: tensor<i1> {graph.name = "c"}, %x: tensor<4x8xf32> {graph.name = "x"},
                %z: tensor<4x2xf32> {graph.name = "z"}) -> (tensor<4x2xf32> {graph.name = "y"}) {
  %0 = graph.slice %x starts [0, 2] sizes [4, 2] steps [1, 1] : tensor<4x8xf32> -> tensor<4x2xf32>
  %y = graph.if %c : (tensor<4x2xf32>) {
    // expected-error @+1 {{a result is a part of a tensor that is not contiguous}}
    graph.yield %0 : tensor<4x2xf32>
  } else {
    graph.yield %z : tensor<4x2xf32>
  }
  return %y : tensor<4x2xf32>
}

// -----

// What lies in no kernel, in a region, too.
func.func @main(%c: tensor<i1> {graph.name = "c"}, %x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %y = graph.if %c : (tensor<8xf32>) {
    // expected-error @+1 {{'graph.relu' cannot be scheduled: it lies in no kernel}}
    %0 = graph.relu %x : tensor<8xf32>
    graph.yield %0 : tensor<8xf32>
  } else {
    graph.yield %x : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}
