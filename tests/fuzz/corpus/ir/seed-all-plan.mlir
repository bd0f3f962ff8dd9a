// --from=plan
#map = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d6, d4, d5)>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, 0, 0, d3)>
#map6 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d3)>
#map7 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>
#map8 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
#map10 = affine_map<(d0, d1) -> (d0, d1)>
#map11 = affine_map<(d0, d1) -> (d0)>
#map12 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 + d4, d2 + d5, d3)>
#map13 = affine_map<() -> ()>
#map14 = affine_map<(d0, d1) -> (d1)>
#map15 = affine_map<(d0) -> (d0)>
module attributes {graph.cpu = "x86-64-v3", graph.model = "all"} {
  plan.weight "w0" at 0 : tensor<1x1x1x4xf32>
  plan.weight "w1" at 64 : tensor<i64>
  plan.function @init
      inputs("" = dense<[[[[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]]]]> : tensor<1x1x1x4xf32>,
        "" = dense<3> : tensor<i64>)
      outputs("w0": tensor<1x1x1x4xf32>,
        "w1": tensor<i64>)
      arena 0 unplanned 0 lower_bound 0 {
    %0 = plan.copy input 0[0 to 16] to output 0[0 to 16]
    %1 = plan.copy input 1[0 to 8] to output 1[0 to 8]
  }
  plan.function @main
      inputs("x": tensor<1x3x12x12xf32>,
        "w": tensor<4x3x1x1xf32>,
        "i": tensor<4xi64>,
        "t": tensor<i1>)
      outputs("y": tensor<1x4x6x6xf32>,
        "z": tensor<4x6xf32>,
        "c": tensor<1x8x12x12xf32>,
        "s": tensor<4x6xf32>)
      arena 6336 unplanned 7808 lower_bound 6336 {
    %0 = plan.dispatch @transpose_0 chunks 1 scratch 0 reads(input 0[0 to 1728]) writes(arena[4608 to 6336])
    %1 = plan.dispatch @conv_add_0 after %0 chunks 48 scratch 64 reads(arena[4608 to 6336], input 1[0 to 48], weights[0 to 16]) writes(arena[0 to 4592, 16 of 32])
    %2 = plan.dispatch @max_pool_0 after %1 chunks 1 scratch 0 reads(arena[0 to 4592, 16 of 32]) writes(arena[4608 to 5184])
    %3 = plan.dispatch @transpose_1 after %2 chunks 1 scratch 0 reads(arena[4608 to 5184]) writes(output 0[0 to 576])
    %4 = plan.dispatch @softmax_0 after %3 chunks 24 scratch 192 reads(output 0[0 to 576]) writes(arena[4608 to 5184])
    %5 = plan.dispatch @gather_0 after %4 chunks 1 scratch 0 reads(arena[4608 to 5184], input 2[0 to 32]) writes(arena[5184 to 5280])
    %6 = plan.dispatch @max_pool_1 chunks 1 scratch 0 reads(arena[0 to 4592, 16 of 32]) writes(arena[16 to 4608, 16 of 32])
    %7 = plan.dispatch @transpose_2 after %6 chunks 1 scratch 0 reads(arena[0 to 4608]) writes(output 2[0 to 4608])
    %8 = plan.copy weights[64 to 72] to arena[4608 to 4616]
    %9 = plan.loop after %8 alone
    %10 = plan.dispatch @compare_0 chunks 1 scratch 0 reads(arena[4608 to 4616]) writes(arena[64 to 65])
    %11 = plan.leave unless arena[64 to 65]
    %12 = plan.dispatch @mul_0 chunks 1 scratch 0 reads(arena[5184 to 5280]) writes(arena[5184 to 5280] inplace 0)
    %13 = plan.dispatch @add_0 chunks 1 scratch 0 reads(arena[4608 to 4616]) writes(arena[4608 to 4616] inplace 0)
    %14 = plan.end_loop
    %15 = plan.copy input 3[0 to 1] to arena[0 to 1]
    %16 = plan.copy after %14 arena[5184 to 5280] to output 1[0 to 96]
    %17 = plan.zero output 3[0 to 96]
    %18 = plan.loop after %17 length 4 count weights[64 to 72] alone
    %19 = plan.leave unless arena[0 to 1]
    %20 = plan.dispatch @add_1 chunks 1 scratch 0 reads(output 1[0 to 96], arena[5184 to 5208] step (24)) writes(output 1[0 to 96] inplace 0)
    %21 = plan.if input 3[0 to 1]
    %22 = plan.dispatch @exp_0 chunks 1 scratch 0 reads(arena[5184 to 5208] step (24)) writes(output 3[0 to 24] step (24))
    %23 = plan.else
    %24 = plan.copy arena[5184 to 5208] step (24) to output 3[0 to 24] step (24)
    %25 = plan.end_if
    %26 = plan.copy input 3[0 to 1] to arena[0 to 1]
    %27 = plan.end_loop
  }
  func.func private @transpose_0(%arg0: tensor<1x3x12x12xf32>) -> tensor<1x12x12x3xf32> attributes {graph.chunks = 1 : i64, graph.estimate = 824 : i64, graph.plan = #cpu.transpose<side = 8, rows = 512, units = 18>, graph.scratch = 0 : i64} {
    %0 = tensor.empty() : tensor<1x12x12x3xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<1x3x12x12xf32>) outs(%0 : tensor<1x12x12x3xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x12x12x3xf32>
    return %1 : tensor<1x12x12x3xf32>
  }
  func.func private @conv_add_0(%arg0: tensor<1x12x12x3xf32>, %arg1: tensor<4x3x1x1xf32>, %arg2: tensor<1x1x1x4xf32>) -> (tensor<1x12x12x4xf32> {graph.strides = array<i64: 1152, 96, 8, 1>}) attributes {graph.chunks = 48 : i64, graph.estimate = 11420 : i64, graph.plan = #cpu.rows<outer = 4, lanes = 8, units = 12>, graph.scratch = 64 : i64} {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<1x12x12x4xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<1x12x12x4xf32>) -> tensor<1x12x12x4xf32>
    %2 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%arg0, %arg1 : tensor<1x12x12x3xf32>, tensor<4x3x1x1xf32>) outs(%1 : tensor<1x12x12x4xf32>) attrs =  {origin.op = #origin.convolution<image, position, position, output, tap, tap, channel>} {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %5 = arith.mulf %in, %in_0 : f32
      %6 = arith.addf %out, %5 : f32
      linalg.yield %6 : f32
    } -> tensor<1x12x12x4xf32>
    %3 = tensor.empty() : tensor<1x12x12x4xf32>
    %4 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %arg2 : tensor<1x12x12x4xf32>, tensor<1x1x1x4xf32>) outs(%3 : tensor<1x12x12x4xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %5 = arith.addf %in, %in_0 : f32
      linalg.yield %5 : f32
    } -> tensor<1x12x12x4xf32>
    return %4 : tensor<1x12x12x4xf32>
  }
  func.func private @max_pool_0(%arg0: tensor<1x12x12x4xf32> {graph.strides = array<i64: 1152, 96, 8, 1>}) -> tensor<1x6x6x4xf32> attributes {graph.chunks = 1 : i64, graph.estimate = 716 : i64, graph.plan = #cpu.windows<lanes = 8, outputs = 8, channels = 4, units = 6>, graph.scratch = 0 : i64} {
    %cst = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<2x2xf32>
    %1 = tensor.empty() : tensor<1x6x6x4xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
    %3 = linalg.generic {indexing_maps = [#map6, #map7, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%arg0, %0 : tensor<1x12x12x4xf32>, tensor<2x2xf32>) outs(%2 : tensor<1x6x6x4xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %4 = arith.maximumf %out, %in : f32
      linalg.yield %4 : f32
    } -> tensor<1x6x6x4xf32>
    return %3 : tensor<1x6x6x4xf32>
  }
  func.func private @transpose_1(%arg0: tensor<1x6x6x4xf32>) -> tensor<1x4x6x6xf32> attributes {graph.chunks = 1 : i64, graph.estimate = 608 : i64, graph.plan = #cpu.transpose<side = 8, rows = 512, units = 1>, graph.scratch = 0 : i64} {
    %0 = tensor.empty() : tensor<1x4x6x6xf32>
    %1 = linalg.generic {indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<1x6x6x4xf32>) outs(%0 : tensor<1x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x4x6x6xf32>
    return %1 : tensor<1x4x6x6xf32>
  }
  func.func private @softmax_0(%arg0: tensor<24x6xf32>) -> tensor<24x6xf32> attributes {graph.chunks = 24 : i64, graph.estimate = 3451 : i64, graph.plan = #cpu.rows<outer = 1, lanes = 8, units = 1>, graph.scratch = 192 : i64} {
    %cst = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<24xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<24xf32>) -> tensor<24xf32>
    %2 = linalg.generic {indexing_maps = [#map10, #map11], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<24x6xf32>) outs(%1 : tensor<24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %10 = arith.maximumf %out, %in : f32
      linalg.yield %10 : f32
    } -> tensor<24xf32>
    %3 = tensor.empty() : tensor<24x6xf32>
    %4 = linalg.generic {indexing_maps = [#map10, #map11, #map10], iterator_types = ["parallel", "parallel"]} ins(%arg0, %2 : tensor<24x6xf32>, tensor<24xf32>) outs(%3 : tensor<24x6xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %10 = arith.subf %in, %in_1 : f32
      %11 = math.exp %10 : f32
      linalg.yield %11 : f32
    } -> tensor<24x6xf32>
    %cst_0 = arith.constant 0.000000e+00 : f32
    %5 = tensor.empty() : tensor<24xf32>
    %6 = linalg.fill ins(%cst_0 : f32) outs(%5 : tensor<24xf32>) -> tensor<24xf32>
    %7 = linalg.generic {indexing_maps = [#map10, #map11], iterator_types = ["parallel", "reduction"]} ins(%4 : tensor<24x6xf32>) outs(%6 : tensor<24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %10 = arith.addf %out, %in : f32
      linalg.yield %10 : f32
    } -> tensor<24xf32>
    %8 = tensor.empty() : tensor<24x6xf32>
    %9 = linalg.generic {indexing_maps = [#map10, #map11, #map10], iterator_types = ["parallel", "parallel"]} ins(%4, %7 : tensor<24x6xf32>, tensor<24xf32>) outs(%8 : tensor<24x6xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %10 = arith.divf %in, %in_1 : f32
      linalg.yield %10 : f32
    } -> tensor<24x6xf32>
    return %9 : tensor<24x6xf32>
  }
  func.func private @gather_0(%arg0: tensor<24x6xf32>, %arg1: tensor<4xi64>) -> tensor<4x6xf32> attributes {graph.chunks = 1 : i64, graph.estimate = 549 : i64, graph.plan = #cpu.rows<outer = 1, lanes = 8, units = 171>, graph.scratch = 0 : i64} {
    %0 = tensor.empty() : tensor<4x6xf32>
    %1 = linalg.generic {indexing_maps = [#map11, #map10], iterator_types = ["parallel", "parallel"]} ins(%arg1 : tensor<4xi64>) outs(%0 : tensor<4x6xf32>) {
    ^bb0(%in: i64, %out: f32):
      %2 = linalg.index 1 : index
      %3 = arith.index_cast %in : i64 to index
      %c24 = arith.constant 24 : index
      %4 = arith.addi %3, %c24 : index
      %c0 = arith.constant 0 : index
      %5 = arith.cmpi slt, %3, %c0 : index
      %6 = arith.select %5, %4, %3 : index
      %c0_0 = arith.constant 0 : index
      %7 = arith.maxsi %6, %c0_0 : index
      %c23 = arith.constant 23 : index
      %8 = arith.minsi %7, %c23 : index
      %extracted = tensor.extract %arg0[%8, %2] : tensor<24x6xf32>
      linalg.yield %extracted : f32
    } -> tensor<4x6xf32>
    return %1 : tensor<4x6xf32>
  }
  func.func private @max_pool_1(%arg0: tensor<1x12x12x4xf32> {graph.strides = array<i64: 1152, 96, 8, 1>}) -> (tensor<1x12x12x4xf32> {graph.strides = array<i64: 1152, 96, 8, 1>}) attributes {graph.chunks = 1 : i64, graph.estimate = 2444 : i64, graph.plan = #cpu.windows<lanes = 8, outputs = 8, channels = 4, units = 12>, graph.scratch = 0 : i64} {
    %cst = arith.constant 0xFF800000 : f32
    %padded = tensor.pad %arg0 low[0, 1, 1, 0] high[0, 1, 1, 0] {
    ^bb0(%arg1: index, %arg2: index, %arg3: index, %arg4: index):
      tensor.yield %cst : f32
    } : tensor<1x12x12x4xf32> to tensor<1x14x14x4xf32>
    %0 = tensor.empty() : tensor<3x3xf32>
    %1 = tensor.empty() : tensor<1x12x12x4xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<1x12x12x4xf32>) -> tensor<1x12x12x4xf32>
    %3 = linalg.generic {indexing_maps = [#map12, #map7, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%padded, %0 : tensor<1x14x14x4xf32>, tensor<3x3xf32>) outs(%2 : tensor<1x12x12x4xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %4 = arith.maximumf %out, %in : f32
      linalg.yield %4 : f32
    } -> tensor<1x12x12x4xf32>
    return %3 : tensor<1x12x12x4xf32>
  }
  func.func private @transpose_2(%arg0: tensor<1x12x12x8xf32>) -> tensor<1x8x12x12xf32> attributes {graph.chunks = 1 : i64, graph.estimate = 1364 : i64, graph.plan = #cpu.transpose<side = 8, rows = 512, units = 1>, graph.scratch = 0 : i64} {
    %0 = tensor.empty() : tensor<1x8x12x12xf32>
    %1 = linalg.generic {indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<1x12x12x8xf32>) outs(%0 : tensor<1x8x12x12xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x8x12x12xf32>
    return %1 : tensor<1x8x12x12xf32>
  }
  func.func private @compare_0(%arg0: tensor<i64>) -> tensor<i1> attributes {graph.chunks = 1 : i64, graph.estimate = 501 : i64, graph.plan = #cpu.rows<outer = 0, lanes = 8, units = 1024>, graph.scratch = 0 : i64} {
    %0 = tensor.empty() : tensor<i1>
    %1 = linalg.generic {indexing_maps = [#map13, #map13], iterator_types = []} ins(%arg0 : tensor<i64>) outs(%0 : tensor<i1>) {
    ^bb0(%in: i64, %out: i1):
      %c3_i64 = arith.constant 3 : i64
      %2 = arith.cmpi slt, %in, %c3_i64 : i64
      linalg.yield %2 : i1
    } -> tensor<i1>
    return %1 : tensor<i1>
  }
  func.func private @mul_0(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> attributes {graph.chunks = 1 : i64, graph.estimate = 515 : i64, graph.inplace = [array<i64: 0, 0>], graph.plan = #cpu.rows<outer = 0, merged = 2, lanes = 8, units = 43>, graph.scratch = 0 : i64} {
    %0 = tensor.empty() : tensor<4x6xf32>
    %1 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg0 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %2 = arith.mulf %in, %in_0 : f32
      linalg.yield %2 : f32
    } -> tensor<4x6xf32>
    return %1 : tensor<4x6xf32>
  }
  func.func private @add_0(%arg0: tensor<i64>) -> tensor<i64> attributes {graph.chunks = 1 : i64, graph.estimate = 501 : i64, graph.inplace = [array<i64: 0, 0>], graph.plan = #cpu.rows<outer = 0, lanes = 8, units = 1024>, graph.scratch = 0 : i64} {
    %0 = tensor.empty() : tensor<i64>
    %1 = linalg.generic {indexing_maps = [#map13, #map13, #map13], iterator_types = []} ins(%arg0, %arg0 : tensor<i64>, tensor<i64>) outs(%0 : tensor<i64>) {
    ^bb0(%in: i64, %in_0: i64, %out: i64):
      %2 = arith.addi %in, %in_0 : i64
      linalg.yield %2 : i64
    } -> tensor<i64>
    return %1 : tensor<i64>
  }
  func.func private @add_1(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>) -> tensor<4x6xf32> attributes {graph.chunks = 1 : i64, graph.estimate = 515 : i64, graph.inplace = [array<i64: 0, 0>], graph.plan = #cpu.rows<outer = 1, lanes = 8, units = 171>, graph.scratch = 0 : i64} {
    %0 = tensor.empty() : tensor<4x6xf32>
    %1 = linalg.generic {indexing_maps = [#map10, #map14, #map10], iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg1 : tensor<4x6xf32>, tensor<6xf32>) outs(%0 : tensor<4x6xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %2 = arith.addf %in, %in_0 : f32
      linalg.yield %2 : f32
    } -> tensor<4x6xf32>
    return %1 : tensor<4x6xf32>
  }
  func.func private @exp_0(%arg0: tensor<6xf32>) -> tensor<6xf32> attributes {graph.chunks = 1 : i64, graph.estimate = 511 : i64, graph.inplace = [array<i64: 0, 0>], graph.plan = #cpu.rows<outer = 0, lanes = 8, units = 171>, graph.scratch = 0 : i64} {
    %0 = tensor.empty() : tensor<6xf32>
    %1 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = ["parallel"]} ins(%arg0 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %2 = math.exp %in : f32
      linalg.yield %2 : f32
    } -> tensor<6xf32>
    return %1 : tensor<6xf32>
  }
}

