// --from=graph
module attributes {graph.cpu = "x86-64-v3", graph.model = "small"} {
  func.func @main(%arg0: tensor<4x8xf32> {graph.name = "x"}, %arg1: tensor<8x8xf32> {graph.name = "w"}) -> (tensor<4x8xf32> {graph.name = "y"}) {
    %0 = graph.constant dense<2.000000e+00> : tensor<8xf32>
    %1 = graph.matmul %arg0, %arg1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %2 = graph.add %1, %0 : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
    %3 = graph.softmax %2 axis 1 : tensor<4x8xf32>
    return %3 : tensor<4x8xf32>
  }
}

