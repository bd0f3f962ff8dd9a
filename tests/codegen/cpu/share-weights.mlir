// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --merge-kernels --outline-constants | FileCheck %s
// RUN: graph-opt %s --lower-kernels --lay-out-weights=remarks=true -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A product of many rows and one of a single row, each of a function of its own,
// would pack one constant in panels of 32 and of 64 columns. Many rows read the
// wider ones as fast, so that one copy does for both; a single row has too few
// accumulators in the others. A third product sums over the columns: it has a copy
// of its own.
// CHECK:       func.func @init(%arg0: tensor<512x2048xf32>
// CHECK-SAME:    -> (tensor<32x512x64xf32> {graph.name = "[[W:[^"]+]]"}, tensor<16x2048x32xf32> {graph.name = "[[T:[^"]+]]"})
// CHECK-LABEL: func.func @prefill
// CHECK:         graph.weight "[[W]]" : tensor<32x512x64xf32>
// CHECK-LABEL: func.func @decode
// CHECK:         graph.weight "[[W]]" : tensor<32x512x64xf32>
// CHECK-LABEL: func.func @back
// CHECK:         graph.weight "[[T]]" : tensor<16x2048x32xf32>
// CHECK:       func.func private @matmul_0(%arg0: tensor<128x512xf32>
// CHECK-SAME:    {cpu.layout = #cpu.panels<of = tensor<512x2048xf32>, order = [0, 1], batch = 0, width = 64>}

// REMARK:      remark: weights of type 'tensor<512x2048xf32>', which several kernels read
// REMARK-NEXT:   kernel 'matmul_0': #cpu.panels<{{.*}}order = [0, 1]{{.*}}width = 64>, {{.*}} 17792 instructions a step with 32, {{.*}} 19200 instructions a step with 64
// REMARK-NEXT:   kernel 'matmul_1': #cpu.panels<{{.*}}order = [0, 1]{{.*}}width = 64>, {{.*}} 640 instructions a step with 32, {{.*}} 384 instructions a step with 64
// REMARK-NEXT:   kernel 'matmul_2': #cpu.panels<{{.*}}order = [1, 0]{{.*}}width = 32>, {{.*}} instructions a step with 32

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
}
