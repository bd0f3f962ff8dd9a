// RUN: graph-opt %s --plan-memory --split-input-file --verify-diagnostics

// expected-error @+1 {{the module has no function to run, such as @main}}
module {}

// -----

// expected-error @+1 {{@init does not give the value that variable "w" begins with}}
graph.variable "w" = dense<1.0> : tensor<8xf32>
func.func @step(%w: tensor<8xf32> {graph.variable = "w"}) {
  return
}

// -----

// expected-error @+1 {{two arguments of @step are variable "w"}}
func.func @step(%v: tensor<8xf32> {graph.variable = "w"}, %w: tensor<8xf32> {graph.variable = "w"}) {
  return
}

// -----

// expected-error @+1 {{two results of @step are variable "w"}}
func.func @step(%w: tensor<8xf32> {graph.variable = "w"})
    -> (tensor<8xf32> {graph.variable = "w"}, tensor<8xf32> {graph.variable = "w"}) {
  return %w, %w : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error @+1 {{result 0 of @step is variable "w", but no argument of its type is}}
func.func @step(%v: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.variable = "w"}) {
  return %v : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{kernel 'k' has no graph.chunks: choose strategies before planning memory}}
  %0 = graph.dispatch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.scratch = 0 : i64} {
  return %x : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{kernel 'k' has no graph.scratch: choose strategies before planning memory}}
  %0 = graph.dispatch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.chunks = 1 : i64} {
  return %x : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'graph.relu' cannot be scheduled: it lies in no kernel}}
  %0 = graph.relu %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main() -> tensor<8xf32> {
  // expected-error @+1 {{there is no weight 'w'}}
  %0 = graph.weight "w" : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @init(%0: tensor<8xf32> {graph.source = dense<2.0> : tensor<8xf32>}) -> (tensor<8xf32> {graph.name = "w"}) {
  return %0 : tensor<8xf32>
}
func.func @main() -> tensor<4xf32> {
  // expected-error @+1 {{weight 'w' is 'tensor<8xf32>', not 'tensor<4xf32>'}}
  %0 = graph.weight "w" : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{argument 0 of @init has no graph.source with its value}}
func.func @init(%0: tensor<8xf32>) -> (tensor<8xf32> {graph.name = "w"}) {
  return %0 : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{result 1 of @init has no graph.name of its own}}
func.func @init(%0: tensor<8xf32> {graph.source = dense<2.0> : tensor<8xf32>}) -> (tensor<8xf32> {graph.name = "w"}, tensor<8xf32> {graph.name = "w"}) {
  return %0, %0 : tensor<8xf32>, tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{@main must have a body of one block}}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
^never:
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{argument 0 of @main is 'tensor<?xf32>', not a tensor of numbers with a static shape}}
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{result 0 of @main is 'index', not a tensor of numbers with a static shape}}
func.func @main() -> index {
  %0 = arith.constant 1 : index
  return %0 : index
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<16xf32> {
  %0 = graph.dispatch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error @+1 {{operand 1 cannot lie in the concatenation: it is no result of a dispatch that lies nowhere else}}
  %1 = graph.concat %0, %x axis 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<16xf32> {
  %0 = graph.dispatch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error @+1 {{operand 1 cannot lie in the concatenation: it is no result of a dispatch that lies nowhere else}}
  %1 = graph.concat %0, %0 axis 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<8xf32>
}

// -----

// The kernel writes rows that follow one another; they lie with gaps.
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x8xf32> {
  // expected-error @+1 {{result 0 lies with strides [8, 1], but kernel 'k' has [4, 1]}}
  %0 = graph.dispatch @k(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = graph.dispatch @l(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = graph.concat %0, %1 axis 1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}
func.func private @k(%x: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<2x4xf32>
}
func.func private @l(%x: tensor<2x4xf32>) -> (tensor<2x4xf32> {graph.strides = array<i64: 8, 1>}) attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<2x4xf32>
}

// -----

func.func @main(%x: tensor<2x8xf32>) -> tensor<2x4xf32> {
  %0 = graph.slice %x starts [0, 4] sizes [2, 4] steps [1, 1] : tensor<2x8xf32> -> tensor<2x4xf32>
  // expected-error @+1 {{operand 0 lies with strides [8, 1], but kernel 'k' has [4, 1]}}
  %1 = graph.dispatch @k(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
func.func private @k(%x: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<2x4xf32>
}

// -----

func.func @main(%x: tensor<2x8xf32>) -> tensor<8xf32> {
  %0 = graph.slice %x starts [0, 4] sizes [2, 4] steps [1, 1] : tensor<2x8xf32> -> tensor<2x4xf32>
  // expected-error @+1 {{the result does not lie in rows in the tensor that it is a part of}}
  %1 = graph.reshape %0 : tensor<2x4xf32> to tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{the result does not lie in rows in the tensor that it is a part of}}
  %0 = graph.slice %x starts [7] sizes [4] steps [-2] : tensor<8xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<2x8xf32>) -> tensor<2x4xf32> {
  %0 = graph.slice %x starts [0, 4] sizes [2, 4] steps [1, 1] : tensor<2x8xf32> -> tensor<2x4xf32>
  // expected-error @+1 {{a result is a part of a tensor that is not contiguous}}
  return %0 : tensor<2x4xf32>
}
