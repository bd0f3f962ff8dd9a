module attributes {graph.cpu = "x86-64-v3", graph.model = "small"} {
  func.func @main(%arg0: tensor<4x8xf32> {graph.name = "x"}, %arg1: tensor<8x8xf32> {graph.name = "w"}) -> (tensor<4x8xf32> {graph.name = "y"}) {
    %0 = graph.kernel (%arg2 = %arg0, %arg3 = %arg1) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> {
      %2 = graph.constant dense<2.000000e+00> : tensor<f32>
      %3 = graph.matmul %arg2, %arg3 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
      %4 = graph.add %3, %2 : tensor<4x8xf32>, tensor<f32> -> tensor<4x8xf32>
      graph.yield %4 : tensor<4x8xf32>
    }
    %1 = graph.kernel (%arg2 = %0) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
      %2 = graph.softmax %arg2 axis 1 : tensor<4x8xf32>
      graph.yield %2 : tensor<4x8xf32>
    }
    return %1 : tensor<4x8xf32>
  }
}

