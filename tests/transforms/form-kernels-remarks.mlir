// RUN: graph-opt %s --form-kernels=remarks=true --verify-diagnostics

func.func @remarks(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8x4xf32>) {
  %0 = graph.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  // expected-remark@+1 {{computed in the registers of graph.matmul}}
  %1 = graph.relu %0 : tensor<4x8xf32>
  // expected-remark@+1 {{its own kernel: its result is read by several kernels}}
  %2 = graph.transpose %1 [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<8x4xf32>
}
