// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --merge-kernels --outline-constants | FileCheck %s
// RUN: graph-opt %s --lower-kernels --lay-out-weights=remarks=true -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A product of many rows and one of a single row, each of a function of its own,
// would pack one constant in panels of 32 and of 64 columns. Either can read the
// other's as fast, so that one copy does for both. A third product sums over the
// columns: it has a copy of its own.
// CHECK:       func.func @init(%arg0: tensor<512x2048xf32>
// CHECK-SAME:    -> (tensor<64x512x32xf32> {graph.name = "[[W:[^"]+]]"}, tensor<16x2048x32xf32> {graph.name = "[[T:[^"]+]]"}, tensor<64x96xf32>
// CHECK-LABEL: func.func @prefill
// CHECK:         graph.weight "[[W]]" : tensor<64x512x32xf32>
// CHECK-LABEL: func.func @decode
// CHECK:         graph.weight "[[W]]" : tensor<64x512x32xf32>
// CHECK-LABEL: func.func @back
// CHECK:         graph.weight "[[T]]" : tensor<16x2048x32xf32>
// CHECK:       func.func private @matmul_1(%arg0: tensor<1x512xf32>
// CHECK-SAME:    {cpu.layout = #cpu.panels<of = tensor<512x2048xf32>, order = [0, 1], batch = 0, width = 32>}

// REMARK:      remark: weights of type 'tensor<512x2048xf32>', which several kernels read
// REMARK-NEXT:   kernel 'matmul_0': #cpu.panels<{{.*}}order = [0, 1]{{.*}}width = 32>, {{[0-9]+}} cycles, {{[0-9]+}} in panels of 64
// REMARK-NEXT:   kernel 'matmul_1': #cpu.panels<{{.*}}order = [0, 1]{{.*}}width = 32>, {{[0-9]+}} cycles, {{[0-9]+}} in panels of 64
// REMARK-NEXT:   kernel 'matmul_2': #cpu.panels<{{.*}}order = [1, 0]{{.*}}width = 32>, {{[0-9]+}} cycles

// What few rows read as fast where it lies is not copied if something else reads
// it so.
// CHECK-LABEL: func.func private @matmul_3(
// CHECK-NOT:     cpu.layout
// CHECK-SAME:    right = in_place
// REMARK:        kernel 'matmul_3': as they are, {{[0-9]+}} cycles, {{[0-9]+}} in panels of 32

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @prefill(%x: tensor<128x512xf32> {graph.name = "x"}) -> (tensor<128x2048xf32> {graph.name = "y"}) {
    %w = graph.constant dense<0.5> : tensor<512x2048xf32>
    %y = graph.kernel (%a = %x, %b = %w) : (tensor<128x512xf32>, tensor<512x2048xf32>) -> tensor<128x2048xf32> {
      %0 = graph.matmul %a, %b : tensor<128x512xf32>, tensor<512x2048xf32> -> tensor<128x2048xf32>
      graph.yield %0 : tensor<128x2048xf32>
    }
    return %y : tensor<128x2048xf32>
  }
  func.func @decode(%x: tensor<1x512xf32> {graph.name = "x"}) -> (tensor<1x2048xf32> {graph.name = "y"}) {
    %w = graph.constant dense<0.5> : tensor<512x2048xf32>
    %y = graph.kernel (%a = %x, %b = %w) : (tensor<1x512xf32>, tensor<512x2048xf32>) -> tensor<1x2048xf32> {
      %0 = graph.matmul %a, %b : tensor<1x512xf32>, tensor<512x2048xf32> -> tensor<1x2048xf32>
      graph.yield %0 : tensor<1x2048xf32>
    }
    return %y : tensor<1x2048xf32>
  }
  func.func @back(%x: tensor<128x2048xf32> {graph.name = "x"}) -> (tensor<128x512xf32> {graph.name = "y"}) {
    %w = graph.constant dense<0.5> : tensor<512x2048xf32>
    %y = graph.kernel (%a = %x, %b = %w) : (tensor<128x2048xf32>, tensor<512x2048xf32>) -> tensor<128x512xf32> {
      %0 = graph.matmul %a, %b transpose_b : tensor<128x2048xf32>, tensor<512x2048xf32> -> tensor<128x512xf32>
      graph.yield %0 : tensor<128x512xf32>
    }
    return %y : tensor<128x512xf32>
  }
  func.func @tied(%x: tensor<4x64xf32> {graph.name = "x"}, %z: tensor<64x96xf32> {graph.name = "z"})
      -> (tensor<4x96xf32> {graph.name = "y"}, tensor<64x96xf32> {graph.name = "sum"}) {
    %w = graph.constant dense<0.25> : tensor<64x96xf32>
    %y = graph.kernel (%a = %x, %b = %w) : (tensor<4x64xf32>, tensor<64x96xf32>) -> tensor<4x96xf32> {
      %0 = graph.matmul %a, %b : tensor<4x64xf32>, tensor<64x96xf32> -> tensor<4x96xf32>
      graph.yield %0 : tensor<4x96xf32>
    }
    %s = graph.kernel (%a = %z, %b = %w) : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32> {
      %0 = graph.add %a, %b : tensor<64x96xf32>, tensor<64x96xf32> -> tensor<64x96xf32>
      graph.yield %0 : tensor<64x96xf32>
    }
    return %y, %s : tensor<4x96xf32>, tensor<64x96xf32>
  }
}
