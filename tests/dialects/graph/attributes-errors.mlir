// What graph.* attributes may be.
// RUN: graph-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'graph.cpu' must be a string}}
module attributes {graph.cpu = 3 : i64} {}

// -----

// expected-error @+1 {{'graph.chunk' is no attribute of the graph dialect}}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.chunk = 1 : i64}

// -----

// expected-error @+1 {{'graph.chunks' must be an i64 of at least 1}}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.chunks = 0 : i64}

// -----

// expected-error @+1 {{'graph.scratch' must be an i64 of at least 0}}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.scratch = 16 : i32}

// -----

// expected-error @+1 {{'graph.inplace' must be a list of pairs (input, result), on a function}}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.inplace = array<i64: 0, 0>}

// -----

// expected-error @+1 {{'graph.inplace' has the entry array<i64: 0>; expected array<i64: input, result>}}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.inplace = [array<i64: 0>]}

// -----

// expected-error @+1 {{'graph.inplace' names input 0 and result 1 of a function with 1 and 1}}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.inplace = [array<i64: 0, 1>]}

// -----

// expected-error @+1 {{'graph.name' must be a string}}
func.func private @k(%x: tensor<8xf32> {graph.name = 1 : i64}) -> tensor<8xf32>

// -----

// expected-error @+1 {{'graph.chunks' is no attribute of an argument}}
func.func private @k(%x: tensor<8xf32> {graph.chunks = 1 : i64}) -> tensor<8xf32>

// -----

// expected-error @+1 {{'graph.source' is no attribute of a result}}
func.func private @k(%x: tensor<8xf32>) -> (tensor<8xf32> {graph.source = dense<0.0> : tensor<8xf32>})

// -----

// expected-error @+1 {{'graph.source' of argument 0 must be a value of 'tensor<8xf32>'}}
func.func private @k(%x: tensor<8xf32> {graph.source = dense<0.0> : tensor<4xf32>}) -> tensor<8xf32>

// -----

// expected-error @+1 {{'graph.source' 8xf32 takes 32 bytes, but 16 are referred to}}
func.func private @k(%x: tensor<8xf32> {graph.source = #graph.external<"f", 0, 16> : tensor<8xf32>}) -> tensor<8xf32>

// -----

// expected-error @+1 {{'graph.strides' must be a stride, array<i64: …>, for each dimension of a tensor, found array<i64: 1> for 'tensor<2x8xf32>'}}
func.func private @k(%x: tensor<2x8xf32> {graph.strides = array<i64: 1>}) -> tensor<8xf32>

// -----

// expected-error @+1 {{'graph.strides' must be a stride, array<i64: …>, for each dimension of a tensor, found 1 : i64 for 'tensor<8xf32>'}}
func.func private @k(%x: tensor<8xf32>) -> (tensor<8xf32> {graph.strides = 1 : i64})

// -----

// Rows overlap.
// expected-error @+1 {{'graph.strides' must place the elements of 'tensor<2x8xf32>' in rows that follow one another, found array<i64: 7, 1>}}
func.func private @k(%x: tensor<2x8xf32>) -> (tensor<2x8xf32> {graph.strides = array<i64: 7, 1>})

// -----

// The rows of one image do not follow those of the other.
// expected-error @+1 {{'graph.strides' must place the elements of 'tensor<2x3x4xf32>' in rows that follow one another, found array<i64: 64, 8, 1>}}
func.func private @k(%x: tensor<2x3x4xf32> {graph.strides = array<i64: 64, 8, 1>}) -> tensor<8xf32>

// -----

// expected-error @+1 {{'graph.strides' must place the elements of 'tensor<2x4xf32>' in rows that follow one another, found array<i64: -8, 1>}}
func.func private @k(%x: tensor<2x4xf32> {graph.strides = array<i64: -8, 1>}) -> tensor<8xf32>

// -----

func.func @main() -> tensor<2xf32> {
  // expected-error @+1 {{expected a value of the parameter's type, found dense<0.000000e+00> : tensor<3xf32>}}
  %0 = "graph.constant"() {value = #graph.parameter<"w", dense<0.0> : tensor<3xf32>> : tensor<2xf32>} : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main() -> tensor<2xf32> {
  // expected-error @+1 {{2xf32 takes 8 bytes, but 4 are referred to}}
  %0 = "graph.constant"() {value = #graph.parameter<"w", #graph.external<"f", 0, 4> : tensor<2xf32>> : tensor<2xf32>} : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// expected-error @+1 {{'graph.estimate' must be an i64 of at least 0}}
func.func private @k() attributes {graph.estimate = 12.0 : f64}

// -----

// expected-error @+1 {{'graph.estimate' must be an i64 of at least 0}}
func.func private @k() attributes {graph.estimate = -1 : i64}

// -----

// expected-error @+1 {{'graph.plan' must be a plan of a device's dialect, such as #cpu.contraction<…>, found "rows"}}
func.func private @k() attributes {graph.plan = "rows"}

// -----

// expected-error @+1 {{'graph.sizes' must be a list of strings, one for each dimension of 'tensor<4x2xf32>', found ["n"]}}
func.func private @f() -> (tensor<4x2xf32> {graph.sizes = ["n"]})
