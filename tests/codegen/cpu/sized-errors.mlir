// RUN: graph-opt %s --split-input-file --verify-diagnostics --lower-rows --emit-kernels

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{must take and give rows of one length, of two elements at least, and single elements}}
  func.func @lengths(%x: tensor<64xf32>, %y: tensor<32xf32>) -> tensor<64xf32>
      attributes {graph.strategy = "sized-rows", graph.scratch = 0 : i64} {
    %0 = graph.exp %x : tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+2 {{this kernel needs 8 bytes of scratch memory a column}}
  // expected-error @+1 {{strategy "sized-rows" cannot generate code for this kernel}}
  func.func @softmax(%x: tensor<64xf32>) -> tensor<64xf32>
      attributes {graph.strategy = "sized-rows", graph.scratch = 0 : i64} {
    %0 = graph.softmax %x axis 0 : tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+2 {{expected one product of two matrices, accumulated in the third operand}}
  // expected-error @+1 {{strategy "sized-contraction" cannot generate code for this kernel}}
  func.func @product(%a: tensor<?x?xf32>) -> tensor<?x?xf32>
      attributes {graph.strategy = "sized-contraction", graph.scratch = 0 : i64} {
    return %a : tensor<?x?xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+2 {{expected a copy of the one operand}}
  // expected-error @+1 {{strategy "sized-transpose" cannot generate code for this kernel}}
  func.func @copy(%x: tensor<?xi32>, %y: tensor<?xi32>) -> tensor<?xi32>
      attributes {graph.strategy = "sized-transpose", graph.scratch = 0 : i64} {
    return %y : tensor<?xi32>
  }
}

// -----

// A kernel of a model has sizes.
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{strategy "sized-transpose" is for operands of any size only}}
  func.func @copy(%x: tensor<8xi32>) -> tensor<8xi32>
      attributes {graph.strategy = "sized-transpose", graph.scratch = 0 : i64} {
    return %x : tensor<8xi32>
  }
}
