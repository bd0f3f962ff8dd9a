// RUN: graph-opt %s --split-input-file --verify-diagnostics --plan-memory

func.func @main(%x: tensor<16xf32> {graph.name = "x"}) -> (tensor<16xf32> {graph.name = "y"}) {
  // expected-error @+1 {{operand 0 of 'graph.dispatch' lies on the CPU, but is needed on the GPU; a graph.transfer can bring it there}}
  %0 = graph.dispatch @gpu(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %1 = graph.transfer %0 to "cpu" : tensor<16xf32>
  return %1 : tensor<16xf32>
}
func.func private @gpu(%a: tensor<16xf32>) -> tensor<16xf32>
    attributes {graph.device = "cuda", graph.chunks = 1 : i64, graph.threads = 32 : i64, graph.scratch = 0 : i64} {
  return %a : tensor<16xf32>
}

// -----

func.func @main(%x: tensor<16xf32> {graph.name = "x"}) -> (tensor<16xf32> {graph.name = "y"}) {
  %d = graph.transfer %x to "cuda" : tensor<16xf32>
  // expected-error @+1 {{operand 0 of 'func.return' lies on the GPU, but is needed on the CPU}}
  return %d : tensor<16xf32>
}

// -----

func.func @main(%x: tensor<16xf32> {graph.name = "x"}) -> (tensor<16xf32> {graph.name = "y"}) {
  // expected-error @+1 {{operand 0 of 'graph.transfer' lies on the CPU, but is needed on the GPU}}
  %d = graph.transfer %x to "cpu" : tensor<16xf32>
  return %d : tensor<16xf32>
}

// -----

// A branch brings what lies on one device.
func.func @main(%x: tensor<16xf32> {graph.name = "x"}, %c: tensor<i1> {graph.name = "c"}) -> (tensor<16xf32> {graph.name = "y"}) {
  %d = graph.transfer %x to "cuda" : tensor<16xf32>
  %y = graph.if %c : (tensor<16xf32>) {
    graph.yield %d : tensor<16xf32>
  } else {
    // expected-error @+1 {{operand 0 of 'graph.yield' lies on the CPU, but is needed on the GPU}}
    graph.yield %x : tensor<16xf32>
  }
  %z = graph.transfer %y to "cpu" : tensor<16xf32>
  return %z : tensor<16xf32>
}

// -----

func.func @main(%x: tensor<16xf32> {graph.name = "x"}) -> (tensor<16xf32> {graph.name = "y"}) {
  %d = graph.transfer %x to "cuda" : tensor<16xf32>
  // expected-error @+1 {{kernel 'gpu' has no graph.threads: choose strategies before planning memory}}
  %0 = graph.dispatch @gpu(%d) : (tensor<16xf32>) -> tensor<16xf32>
  %1 = graph.transfer %0 to "cpu" : tensor<16xf32>
  return %1 : tensor<16xf32>
}
func.func private @gpu(%a: tensor<16xf32>) -> tensor<16xf32>
    attributes {graph.device = "cuda", graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %a : tensor<16xf32>
}

// -----

// The next value of a variable that lies on the CPU.
graph.variable "w" = dense<0.0> : tensor<16xf32> trainable
func.func @step(%x: tensor<16xf32> {graph.name = "x"}, %w: tensor<16xf32> {graph.variable = "w"}) -> (tensor<16xf32> {graph.variable = "w"}) {
  %d = graph.transfer %x to "cuda" : tensor<16xf32>
  // expected-error @+1 {{operand 0 of 'func.return' lies on the GPU, but is needed on the CPU}}
  return %d : tensor<16xf32>
}

// -----

func.func @main(%x: tensor<8x16xf32> {graph.name = "x"}) -> (tensor<8x8xf32> {graph.name = "y"}) {
  %s = graph.slice %x starts [0, 0] sizes [8, 8] steps [1, 1] : tensor<8x16xf32> -> tensor<8x8xf32>
  // expected-error @+1 {{the operand is a part of a tensor that is not contiguous, and so cannot be copied}}
  %d = graph.transfer %s to "cuda" : tensor<8x8xf32>
  %h = graph.transfer %d to "cpu" : tensor<8x8xf32>
  return %h : tensor<8x8xf32>
}

// -----

// expected-error @+1 {{@init runs on the CPU, where the artifact is written}}
func.func @init(%0: tensor<16xf32> {graph.source = dense<2.0> : tensor<16xf32>}) -> (tensor<16xf32> {graph.name = "w"}) {
  %d = graph.transfer %0 to "cuda" : tensor<16xf32>
  %h = graph.transfer %d to "cpu" : tensor<16xf32>
  return %h : tensor<16xf32>
}
func.func @main() -> (tensor<16xf32> {graph.name = "y"}) {
  %w = graph.weight "w" : tensor<16xf32>
  return %w : tensor<16xf32>
}
