// --from=plan
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
#map4 = affine_map<(d0, d1) -> (d0)>
module attributes {graph.cpu = "x86-64-v3", graph.model = "small"} {
  plan.function @main
      inputs("x": tensor<4x8xf32>,
        "w": tensor<8x8xf32>)
      outputs("y": tensor<4x8xf32>)
      arena 128 unplanned 128 lower_bound 128 {
    %0 = plan.dispatch @matmul_add_0 chunks 1 scratch 0 reads(input 0[0 to 128], input 1[0 to 256]) writes(arena[0 to 128])
    %1 = plan.dispatch @softmax_0 after %0 chunks 4 scratch 192 reads(arena[0 to 128]) writes(output 0[0 to 128])
  }
  func.func private @matmul_add_0(%arg0: tensor<4x8xf32>, %arg1: tensor<8x8xf32>) -> tensor<4x8xf32> attributes {graph.chunks = 1 : i64, graph.estimate = 546 : i64, graph.plan = #cpu.contraction<tile = [4, 8], block = [1, 1, 1], depth = 8, left = in_place, right = in_place>, graph.scratch = 0 : i64} {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<4x8xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%1 : tensor<4x8xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %5 = arith.mulf %in, %in_0 : f32
      %6 = arith.addf %out, %5 : f32
      linalg.yield %6 : f32
    } -> tensor<4x8xf32>
    %3 = tensor.empty() : tensor<4x8xf32>
    %4 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<4x8xf32>) outs(%3 : tensor<4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %cst_0 = arith.constant 2.000000e+00 : f32
      %5 = arith.addf %in, %cst_0 : f32
      linalg.yield %5 : f32
    } -> tensor<4x8xf32>
    return %4 : tensor<4x8xf32>
  }
  func.func private @softmax_0(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {graph.chunks = 4 : i64, graph.estimate = 910 : i64, graph.plan = #cpu.rows<outer = 1, lanes = 8, units = 1>, graph.scratch = 192 : i64} {
    %cst = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<4xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
    %2 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<4x8xf32>) outs(%1 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %10 = arith.maximumf %out, %in : f32
      linalg.yield %10 : f32
    } -> tensor<4xf32>
    %3 = tensor.empty() : tensor<4x8xf32>
    %4 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel"]} ins(%arg0, %2 : tensor<4x8xf32>, tensor<4xf32>) outs(%3 : tensor<4x8xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %10 = arith.subf %in, %in_1 : f32
      %11 = math.exp %10 : f32
      linalg.yield %11 : f32
    } -> tensor<4x8xf32>
    %cst_0 = arith.constant 0.000000e+00 : f32
    %5 = tensor.empty() : tensor<4xf32>
    %6 = linalg.fill ins(%cst_0 : f32) outs(%5 : tensor<4xf32>) -> tensor<4xf32>
    %7 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "reduction"]} ins(%4 : tensor<4x8xf32>) outs(%6 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %10 = arith.addf %out, %in : f32
      linalg.yield %10 : f32
    } -> tensor<4xf32>
    %8 = tensor.empty() : tensor<4x8xf32>
    %9 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel"]} ins(%4, %7 : tensor<4x8xf32>, tensor<4xf32>) outs(%8 : tensor<4x8xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %10 = arith.divf %in, %in_1 : f32
      linalg.yield %10 : f32
    } -> tensor<4x8xf32>
    return %9 : tensor<4x8xf32>
  }
}

