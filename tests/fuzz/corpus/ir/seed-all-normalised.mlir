// --from=normalised
module attributes {graph.cpu = "x86-64-v3", graph.model = "all"} {
  func.func @main(%arg0: tensor<1x3x12x12xf32> {graph.name = "x"}, %arg1: tensor<4x3x1x1xf32> {graph.name = "w"}, %arg2: tensor<4xi64> {graph.name = "i"}, %arg3: tensor<i1> {graph.name = "t"}) -> (tensor<1x4x6x6xf32> {graph.name = "y"}, tensor<4x6xf32> {graph.name = "z"}, tensor<1x8x12x12xf32> {graph.name = "c"}, tensor<4x6xf32> {graph.name = "s"}) {
    %0 = graph.constant dense<3> : tensor<i64>
    %1 = graph.constant dense<[[[[1.000000e+00]], [[2.000000e+00]], [[3.000000e+00]], [[4.000000e+00]]]]> : tensor<1x4x1x1xf32>
    %2 = graph.conv %arg0, %arg1 strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_first : tensor<1x3x12x12xf32>, tensor<4x3x1x1xf32> -> tensor<1x4x12x12xf32>
    %3 = graph.add %2, %1 : tensor<1x4x12x12xf32>, tensor<1x4x1x1xf32> -> tensor<1x4x12x12xf32>
    %4 = graph.max_pool %3 kernel [2, 2] strides [2, 2] padding [0, 0, 0, 0] dilations [1, 1] channels_first : tensor<1x4x12x12xf32> -> tensor<1x4x6x6xf32>
    %5 = graph.reshape %4 : tensor<1x4x6x6xf32> to tensor<24x6xf32>
    %6 = graph.softmax %5 axis 1 : tensor<24x6xf32>
    %7 = graph.gather %6, %arg2 axis 0 : tensor<24x6xf32>, tensor<4xi64> -> tensor<4x6xf32>
    %8 = graph.max_pool %3 kernel [3, 3] strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] channels_first : tensor<1x4x12x12xf32> -> tensor<1x4x12x12xf32>
    %9 = graph.concat %3, %8 axis 1 : (tensor<1x4x12x12xf32>, tensor<1x4x12x12xf32>) -> tensor<1x8x12x12xf32>
    %10:2 = graph.while (%arg4 = %0, %arg5 = %7) : (tensor<i64>, tensor<4x6xf32>) {
      %12 = graph.compare less %arg4, %0 : tensor<i64>, tensor<i64> -> tensor<i1>
      graph.condition %12
    } do (%arg4, %arg5) {
      %12 = graph.mul %arg5, %arg5 : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xf32>
      %13 = graph.add %arg4, %arg4 : tensor<i64>, tensor<i64> -> tensor<i64>
      graph.yield %13, %12 : tensor<i64>, tensor<4x6xf32>
    }
    %11:2 = graph.scan %arg4 length 4 trip_count %0 while %arg3 carry (%arg5 = %10#1) over (%arg6 = %10#1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
      %12 = graph.add %arg5, %arg6 : tensor<4x6xf32>, tensor<6xf32> -> tensor<4x6xf32>
      %13 = graph.if %arg3 : (tensor<6xf32>) {
        %14 = graph.exp %arg6 : tensor<6xf32>
        graph.yield %14 : tensor<6xf32>
      } else {
        graph.yield %arg6 : tensor<6xf32>
      }
      graph.yield %arg3, %12, %13 : tensor<i1>, tensor<4x6xf32>, tensor<6xf32>
    }
    return %4, %11#0, %9, %11#1 : tensor<1x4x6x6xf32>, tensor<4x6xf32>, tensor<1x8x12x12xf32>, tensor<4x6xf32>
  }
}

