// RUN: graph-opt %s --split-input-file --verify-diagnostics

func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  // expected-error @+1 {{goes to "gpu"; expected "cpu" or "cuda"}}
  %0 = graph.transfer %x to "gpu" : tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// expected-error @+1 {{is on "cpu"; expected "cuda", or nothing for the CPU}}
graph.variable "w" = dense<0.0> : tensor<16xf32> trainable on "cpu"

// -----

// expected-error @+1 {{"w" is on the GPU, where variables are stored in their own type, 'tensor<16xf32>'; found 'tensor<2x8xf32>'}}
graph.variable "w" = dense<0.0> : tensor<16xf32> trainable on "cuda" stored tensor<2x8xf32> pack @pack unpack @unpack

// -----

// expected-error @+1 {{'graph.device' must be "cuda"; what is for the CPU has none}}
func.func private @k() attributes {graph.device = "cpu"}

// -----

// expected-error @+1 {{'graph.threads' must be an i64, a multiple of 32 up to 1024}}
func.func private @k() attributes {graph.threads = 33 : i64}

// -----

// expected-error @+1 {{'graph.threads' must be an i64, a multiple of 32 up to 1024}}
func.func private @k() attributes {graph.threads = 2048 : i64}

// -----

// expected-error @+1 {{'graph.cuda' must be a list of strings, at least one}}
module attributes {graph.cuda = []} {}

// -----

// expected-error @+1 {{'graph.place' must be a list of strings, at least one}}
module attributes {graph.place = [1 : i64]} {}

// -----

// expected-error @+1 {{'graph.allow_tf32' has no value}}
module attributes {graph.allow_tf32 = 1 : i64} {}
