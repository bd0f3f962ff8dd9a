// RUN: graph-opt %s --emit-kernels --split-input-file --verify-diagnostics

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{has no graph.chunks and graph.scratch: divide kernels before code is made of them}}
  func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.plan = #cpu.rows<outer = 0, lanes = 8, units = 1>} {
    return %x : tensor<8xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{its plan makes 1 chunks with 0 bytes of scratch memory, not 7 chunks with 0 bytes of scratch memory}}
  func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.plan = #cpu.rows<outer = 0, lanes = 8, units = 1>, graph.chunks = 7 : i64, graph.scratch = 0 : i64} {
    return %x : tensor<8xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{its plan makes 1 chunks with 0 bytes of scratch memory, not 1 chunks with 64 bytes of scratch memory}}
  func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.plan = #cpu.rows<outer = 0, lanes = 8, units = 1>, graph.chunks = 1 : i64, graph.scratch = 64 : i64} {
    return %x : tensor<8xf32>
  }
}
