// RUN: graph-opt %s --split-input-file --verify-diagnostics --lower-sized-rows --emit-kernels

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{must take and give rows of one length, of two elements at least, and single elements}}
  func.func @lengths(%x: tensor<64xf32>, %y: tensor<32xf32>) -> tensor<64xf32>
      attributes {graph.plan = #cpu.sized_rows<lanes = along_columns, vector = 32, registers = 4>, graph.scratch = 0 : i64} {
    %0 = graph.exp %x : tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{its plan needs 8 bytes of scratch memory a column: expected graph.scratch = 8}}
  func.func @softmax(%x: tensor<64xf32>) -> tensor<64xf32>
      attributes {graph.plan = #cpu.sized_rows<lanes = along_columns, vector = 32, registers = 4>, graph.scratch = 0 : i64} {
    %0 = graph.softmax %x axis 0 : tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}

// -----

// Across rows a vector is kept.
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{its plan needs 32 bytes of scratch memory a column}}
  func.func @softmax(%x: tensor<64xf32>) -> tensor<64xf32>
      attributes {graph.plan = #cpu.sized_rows<lanes = across_rows, vector = 32, registers = 4>, graph.scratch = 8 : i64} {
    %0 = graph.softmax %x axis 0 : tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'vector' must be a power of two from 8 to 64, found 48}}
  func.func @exp(%x: tensor<64xf32>) -> tensor<64xf32> attributes {graph.plan = #cpu.sized_rows<lanes = along_columns, vector = 48, registers = 4>, graph.scratch = 0 : i64} {
    %0 = graph.exp %x : tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'registers' must be a power of two from 1 to 8, found 16}}
  func.func @exp(%x: tensor<64xf32>) -> tensor<64xf32> attributes {graph.plan = #cpu.sized_rows<lanes = along_columns, vector = 32, registers = 16>, graph.scratch = 0 : i64} {
    %0 = graph.exp %x : tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{cannot be computed as #cpu.sized_contraction<rows = [6], columns = 16, row = 32>: it is no product of two matrices of any size, accumulated in the third operand}}
  func.func @product(%a: tensor<?x?xf32>) -> tensor<?x?xf32>
      attributes {graph.plan = #cpu.sized_contraction<rows = [6], columns = 16, row = 32>, graph.scratch = 0 : i64} {
    return %a : tensor<?x?xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'rows' must be numbers each less than the one before, found [4, 6]}}
  func.func @product(%a: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {graph.plan = #cpu.sized_contraction<rows = [4, 6], columns = 16, row = 32>, graph.scratch = 0 : i64} {
    return %a : tensor<?x?xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'row' must be from 1 to 256, found 0}}
  func.func @product(%a: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {graph.plan = #cpu.sized_contraction<rows = [6], columns = 16, row = 0>, graph.scratch = 0 : i64} {
    return %a : tensor<?x?xf32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{: 'columns' must be a multiple of the 8 lanes of a vector of x86-64-v3, found 12}}
  func.func @product(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32>
      attributes {graph.plan = #cpu.sized_contraction<rows = [6], columns = 12, row = 32>, graph.scratch = 0 : i64} {
    %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) {
    ^body(%x: f32, %y: f32, %z: f32):
      %1 = arith.mulf %x, %y : f32
      %2 = arith.addf %z, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<?x?xf32>
    return %0 : tensor<?x?xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{cannot be computed as #cpu.sized_transpose<side = 8>: it is no copy of rows of any size}}
  func.func @copy(%x: tensor<?xi32>, %y: tensor<?xi32>) -> tensor<?xi32>
      attributes {graph.plan = #cpu.sized_transpose<side = 8>, graph.scratch = 0 : i64} {
    return %y : tensor<?xi32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'side' must be a power of two from 1 to 16, found 32}}
  func.func @copy(%x: tensor<?xi32>) -> tensor<?xi32> attributes {graph.plan = #cpu.sized_transpose<side = 32>, graph.scratch = 0 : i64} {
    return %x : tensor<?xi32>
  }
}

// -----

// A kernel of a model has sizes.
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{it is no copy of rows of any size}}
  func.func @copy(%x: tensor<8xi32>) -> tensor<8xi32>
      attributes {graph.plan = #cpu.sized_transpose<side = 8>, graph.scratch = 0 : i64} {
    return %x : tensor<8xi32>
  }
}
