// --from=fused
module attributes {graph.cpu = "x86-64-v3", graph.model = "all"} {
  func.func @main(%arg0: tensor<1x3x12x12xf32> {graph.name = "x"}, %arg1: tensor<4x3x1x1xf32> {graph.name = "w"}, %arg2: tensor<4xi64> {graph.name = "i"}, %arg3: tensor<i1> {graph.name = "t"}) -> (tensor<1x4x6x6xf32> {graph.name = "y"}, tensor<4x6xf32> {graph.name = "z"}, tensor<1x8x12x12xf32> {graph.name = "c"}, tensor<4x6xf32> {graph.name = "s"}) {
    %0 = graph.constant dense<[[[[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]]]]> : tensor<1x1x1x4xf32>
    %1 = graph.constant dense<3> : tensor<i64>
    %2 = graph.kernel (%arg4 = %arg0) : (tensor<1x3x12x12xf32>) -> tensor<1x12x12x3xf32> {
      %14 = graph.transpose %arg4 [0, 2, 3, 1] : tensor<1x3x12x12xf32> -> tensor<1x12x12x3xf32>
      graph.yield %14 : tensor<1x12x12x3xf32>
    }
    %3 = graph.kernel (%arg4 = %2, %arg5 = %arg1, %arg6 = %0) : (tensor<1x12x12x3xf32>, tensor<4x3x1x1xf32>, tensor<1x1x1x4xf32>) -> tensor<1x12x12x4xf32> {
      %14 = graph.conv %arg4, %arg5 strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_last : tensor<1x12x12x3xf32>, tensor<4x3x1x1xf32> -> tensor<1x12x12x4xf32>
      %15 = graph.add %14, %arg6 : tensor<1x12x12x4xf32>, tensor<1x1x1x4xf32> -> tensor<1x12x12x4xf32>
      graph.yield %15 : tensor<1x12x12x4xf32>
    }
    %4 = graph.kernel (%arg4 = %3) : (tensor<1x12x12x4xf32>) -> tensor<1x6x6x4xf32> {
      %14 = graph.max_pool %arg4 kernel [2, 2] strides [2, 2] padding [0, 0, 0, 0] dilations [1, 1] channels_last : tensor<1x12x12x4xf32> -> tensor<1x6x6x4xf32>
      graph.yield %14 : tensor<1x6x6x4xf32>
    }
    %5 = graph.kernel (%arg4 = %4) : (tensor<1x6x6x4xf32>) -> tensor<1x4x6x6xf32> {
      %14 = graph.transpose %arg4 [0, 3, 1, 2] : tensor<1x6x6x4xf32> -> tensor<1x4x6x6xf32>
      graph.yield %14 : tensor<1x4x6x6xf32>
    }
    %6 = graph.reshape %5 : tensor<1x4x6x6xf32> to tensor<24x6xf32>
    %7 = graph.kernel (%arg4 = %6) : (tensor<24x6xf32>) -> tensor<24x6xf32> {
      %14 = graph.softmax %arg4 axis 1 : tensor<24x6xf32>
      graph.yield %14 : tensor<24x6xf32>
    }
    %8 = graph.kernel (%arg4 = %7, %arg5 = %arg2) : (tensor<24x6xf32>, tensor<4xi64>) -> tensor<4x6xf32> {
      %14 = graph.gather %arg4, %arg5 axis 0 : tensor<24x6xf32>, tensor<4xi64> -> tensor<4x6xf32>
      graph.yield %14 : tensor<4x6xf32>
    }
    %9 = graph.kernel (%arg4 = %3) : (tensor<1x12x12x4xf32>) -> tensor<1x12x12x4xf32> {
      %14 = graph.max_pool %arg4 kernel [3, 3] strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] channels_last : tensor<1x12x12x4xf32> -> tensor<1x12x12x4xf32>
      graph.yield %14 : tensor<1x12x12x4xf32>
    }
    %10 = graph.kernel (%arg4 = %3, %arg5 = %9) : (tensor<1x12x12x4xf32>, tensor<1x12x12x4xf32>) -> tensor<1x12x12x8xf32> {
      %14 = graph.concat %arg4, %arg5 axis 3 : (tensor<1x12x12x4xf32>, tensor<1x12x12x4xf32>) -> tensor<1x12x12x8xf32>
      graph.yield %14 : tensor<1x12x12x8xf32>
    }
    %11 = graph.kernel (%arg4 = %10) : (tensor<1x12x12x8xf32>) -> tensor<1x8x12x12xf32> {
      %14 = graph.transpose %arg4 [0, 3, 1, 2] : tensor<1x12x12x8xf32> -> tensor<1x8x12x12xf32>
      graph.yield %14 : tensor<1x8x12x12xf32>
    }
    %12:2 = graph.while (%arg4 = %1, %arg5 = %8) : (tensor<i64>, tensor<4x6xf32>) {
      %14 = graph.kernel (%arg6 = %arg4) : (tensor<i64>) -> tensor<i1> {
        %15 = graph.constant dense<3> : tensor<i64>
        %16 = graph.compare less %arg6, %15 : tensor<i64>, tensor<i64> -> tensor<i1>
        graph.yield %16 : tensor<i1>
      }
      graph.condition %14
    } do (%arg4, %arg5) {
      %14 = graph.kernel (%arg6 = %arg5) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
        %16 = graph.mul %arg6, %arg6 : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xf32>
        graph.yield %16 : tensor<4x6xf32>
      }
      %15 = graph.kernel (%arg6 = %arg4) : (tensor<i64>) -> tensor<i64> {
        %16 = graph.add %arg6, %arg6 : tensor<i64>, tensor<i64> -> tensor<i64>
        graph.yield %16 : tensor<i64>
      }
      graph.yield %15, %14 : tensor<i64>, tensor<4x6xf32>
    }
    %13:2 = graph.scan %arg4 length 4 trip_count %1 while %arg3 carry (%arg5 = %12#1) over (%arg6 = %12#1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
      %14 = graph.kernel (%arg7 = %arg5, %arg8 = %arg6) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32> {
        %16 = graph.add %arg7, %arg8 : tensor<4x6xf32>, tensor<6xf32> -> tensor<4x6xf32>
        graph.yield %16 : tensor<4x6xf32>
      }
      %15 = graph.if %arg3 : (tensor<6xf32>) {
        %16 = graph.kernel (%arg7 = %arg6) : (tensor<6xf32>) -> tensor<6xf32> {
          %17 = graph.exp %arg7 : tensor<6xf32>
          graph.yield %17 : tensor<6xf32>
        }
        graph.yield %16 : tensor<6xf32>
      } else {
        graph.yield %arg6 : tensor<6xf32>
      }
      graph.yield %arg3, %14, %15 : tensor<i1>, tensor<4x6xf32>, tensor<6xf32>
    }
    return %5, %13#0, %11, %13#1 : tensor<1x4x6x6xf32>, tensor<4x6xf32>, tensor<1x8x12x12xf32>, tensor<4x6xf32>
  }
}

