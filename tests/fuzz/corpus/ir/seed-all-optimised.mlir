// --from=optimised
module attributes {graph.cpu = "x86-64-v3", graph.model = "all"} {
  func.func @main(%arg0: tensor<1x3x12x12xf32> {graph.name = "x"}, %arg1: tensor<4x3x1x1xf32> {graph.name = "w"}, %arg2: tensor<4xi64> {graph.name = "i"}, %arg3: tensor<i1> {graph.name = "t"}) -> (tensor<1x4x6x6xf32> {graph.name = "y"}, tensor<4x6xf32> {graph.name = "z"}, tensor<1x8x12x12xf32> {graph.name = "c"}, tensor<4x6xf32> {graph.name = "s"}) {
    %0 = graph.constant dense<[[[[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]]]]> : tensor<1x1x1x4xf32>
    %1 = graph.constant dense<3> : tensor<i64>
    %2 = graph.transpose %arg0 [0, 2, 3, 1] : tensor<1x3x12x12xf32> -> tensor<1x12x12x3xf32>
    %3 = graph.conv %2, %arg1 strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_last : tensor<1x12x12x3xf32>, tensor<4x3x1x1xf32> -> tensor<1x12x12x4xf32>
    %4 = graph.add %3, %0 : tensor<1x12x12x4xf32>, tensor<1x1x1x4xf32> -> tensor<1x12x12x4xf32>
    %5 = graph.max_pool %4 kernel [2, 2] strides [2, 2] padding [0, 0, 0, 0] dilations [1, 1] channels_last : tensor<1x12x12x4xf32> -> tensor<1x6x6x4xf32>
    %6 = graph.transpose %5 [0, 3, 1, 2] : tensor<1x6x6x4xf32> -> tensor<1x4x6x6xf32>
    %7 = graph.reshape %6 : tensor<1x4x6x6xf32> to tensor<24x6xf32>
    %8 = graph.softmax %7 axis 1 : tensor<24x6xf32>
    %9 = graph.gather %8, %arg2 axis 0 : tensor<24x6xf32>, tensor<4xi64> -> tensor<4x6xf32>
    %10 = graph.max_pool %4 kernel [3, 3] strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] channels_last : tensor<1x12x12x4xf32> -> tensor<1x12x12x4xf32>
    %11 = graph.concat %4, %10 axis 3 : (tensor<1x12x12x4xf32>, tensor<1x12x12x4xf32>) -> tensor<1x12x12x8xf32>
    %12 = graph.transpose %11 [0, 3, 1, 2] : tensor<1x12x12x8xf32> -> tensor<1x8x12x12xf32>
    %13:2 = graph.while (%arg4 = %1, %arg5 = %9) : (tensor<i64>, tensor<4x6xf32>) {
      %15 = graph.compare less %arg4, %1 : tensor<i64>, tensor<i64> -> tensor<i1>
      graph.condition %15
    } do (%arg4, %arg5) {
      %15 = graph.mul %arg5, %arg5 : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xf32>
      %16 = graph.add %arg4, %arg4 : tensor<i64>, tensor<i64> -> tensor<i64>
      graph.yield %16, %15 : tensor<i64>, tensor<4x6xf32>
    }
    %14:2 = graph.scan %arg4 length 4 trip_count %1 while %arg3 carry (%arg5 = %13#1) over (%arg6 = %13#1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
      %15 = graph.add %arg5, %arg6 : tensor<4x6xf32>, tensor<6xf32> -> tensor<4x6xf32>
      %16 = graph.if %arg3 : (tensor<6xf32>) {
        %17 = graph.exp %arg6 : tensor<6xf32>
        graph.yield %17 : tensor<6xf32>
      } else {
        graph.yield %arg6 : tensor<6xf32>
      }
      graph.yield %arg3, %15, %16 : tensor<i1>, tensor<4x6xf32>, tensor<6xf32>
    }
    return %6, %14#0, %12, %14#1 : tensor<1x4x6x6xf32>, tensor<4x6xf32>, tensor<1x8x12x12xf32>, tensor<4x6xf32>
  }
}

