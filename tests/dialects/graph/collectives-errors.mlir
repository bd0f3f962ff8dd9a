// What ranks can compute together.
// RUN: graph-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{reduces over ranks by sum, mean or max, found min}}
  %0 = graph.all_reduce min %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @+1 {{has a mean of floats, found 4xi32}}
  %0 = graph.all_reduce mean %x : tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+1 {{sends f32 as bf16 or as it is, nothing else}}
  %0 = graph.all_reduce sum %x communication_dtype bf16 : tensor<4xf64>
  return %0 : tensor<4xf64>
}

// -----

func.func @f(%x: tensor<4xi8>) -> tensor<4xi8> {
  // expected-error @+1 {{must be statically shaped tensor of f64, f32, f16, bf16, i64 or i32}}
  %0 = graph.all_reduce sum %x : tensor<4xi8>
  return %0 : tensor<4xi8>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<1xf32> {
  // expected-error @+2 {{divides dimension 0 of 4xf32 among 3 ranks, of which it is no multiple}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.reduce_scatter sum %x ranks 3 : tensor<4xf32> -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// -----

func.func @f(%x: tensor<f32>) -> tensor<2xf32> {
  // expected-error @+2 {{expected a tensor with a dimension, found a scalar}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.all_gather %x ranks 2 : tensor<f32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+2 {{expected at least one rank, found 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.all_gather %x ranks 0 : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{repeats dimension 0 of 4xf32 for 4611686018427387904 ranks, which is too much}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.all_gather %x ranks 4611686018427387904 : tensor<4xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected a root that is a rank, found -1}}
  %0 = graph.collective_broadcast %x root -1 : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %0 = graph.if %c : (tensor<4xf32>) {
    // expected-error @+1 {{stands in a branch, a loop or a kernel; all ranks have to run it, so it belongs in the function's own block}}
    %1 = graph.all_reduce sum %x : tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
