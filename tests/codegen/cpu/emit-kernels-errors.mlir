// RUN: graph-opt %s --emit-kernels --split-input-file --verify-diagnostics

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{no strategy has been chosen for this kernel}}
  func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.strategy = "rows"} {
    return %x : tensor<8xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{strategy 'rows' makes 1 chunks with 0 bytes of scratch memory, not 7 with 0}}
  func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.strategy = "rows", graph.chunks = 7 : i64, graph.scratch = 0 : i64} {
    return %x : tensor<8xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{strategy 'rows' makes 1 chunks with 0 bytes of scratch memory, not 1 with 64}}
  func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.strategy = "rows", graph.chunks = 1 : i64, graph.scratch = 64 : i64} {
    return %x : tensor<8xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{strategy 'contraction' cannot compute this kernel}}
  func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.strategy = "contraction", graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
    return %x : tensor<8xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{strategy 'magic' cannot compute this kernel}}
  func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.strategy = "magic", graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
    return %x : tensor<8xf32>
  }
}

// -----

// The packed operand is not the one that the product reads as its weights.
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{strategy 'contraction' cannot compute this kernel}}
  func.func private @k(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> attributes {graph.strategy = "contraction", graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.packed = 0 : i64} {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<32x32xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%init : tensor<32x32xf32>) {
    ^bb0(%p: f32, %q: f32, %s: f32):
      %0 = arith.mulf %p, %q : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<32x32xf32>
    return %y : tensor<32x32xf32>
  }
}
