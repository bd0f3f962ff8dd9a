// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --outline-constants | FileCheck %s
// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s --check-prefix=EMIT
// RUN: graph-opt %s --lower-kernels --lay-out-weights=winograd=off --choose-strategies | FileCheck %s --check-prefix=OFF
// RUN: graph-opt %s --lower-kernels --lay-out-weights=winograd=fast --choose-strategies | FileCheck %s --check-prefix=FAST
// RUN: graph-opt %s --lower-kernels --lay-out-weights=remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Filters come as 6 × 6 numbers for 4 × 4 outputs; what they were is said by an op
// that nobody computes. Constants are transformed once, others in each run, for no
// larger errors than those of direct sums.

// CHECK-LABEL: func.func @init(
// CHECK:         graph.dispatch @conv_relu_0_pack(%{{.*}}) : (tensor<64x64x3x3xf32>) -> tensor<2x3x3x64x32xf32>
// CHECK:         graph.dispatch @conv_relu_0_transform(%{{.*}}) : (tensor<2x3x3x64x32xf32>) -> tensor<2x36x64x32xf32>
// CHECK-LABEL: func.func @main(
// CHECK:         graph.dispatch @conv_1_pack(%{{.*}}) : (tensor<64x64x3x3xf32>) -> tensor<2x3x3x64x32xf32>
// CHECK:         graph.dispatch @conv_1_transform(%{{.*}}) : (tensor<2x3x3x64x32xf32>) -> tensor<2x16x64x32xf32>
// CHECK:       func.func private @conv_relu_0_transform(
// CHECK-SAME:    graph.plan = #cpu.filter_transform<units = {{[0-9]+}}>
// CHECK:       func.func private @conv_relu_0(
// CHECK-SAME:    {cpu.layout = #cpu.panels<of = tensor<36x64x64xf32>, order = [0, 1, 2], batch = 0, width = 32>}
// CHECK-SAME:    graph.plan = #cpu.winograd<rows = 12, block = [
// CHECK:         {origin.op = #origin.filters}

// A block of tiles is transformed, multiplied by a panel, product by product, and
// becomes outputs, on which the rest is pulled. Lines at the edge are copied.

// EMIT-LABEL:  func.func @conv_relu_0_transform(
// EMIT-COUNT-9:  arith.extf {{.*}} : vector<16xf32> to vector<16xf64>
// EMIT:          vector.fma {{.*}} : vector<16xf64>
// EMIT-COUNT-36: vector.store {{.*}} : memref<147456xf32>, vector<16xf32>
// EMIT-LABEL:  func.func @conv_relu_0(
// EMIT:          scf.if
// EMIT:            vector.fma {{.*}} : vector<16xf32>
// EMIT:          scf.for %{{.*}} = %c0 to %c36 step %c1
// EMIT:            scf.for %{{.*}} = %c0 to %c64 step %c4 iter_args(
// EMIT-COUNT-24:     vector.fma {{.*}} : vector<16xf32>
// EMIT:          arith.cmpf olt
// EMIT-NOT:      origin.filters

// OFF-NOT:     winograd
// OFF:         func.func private @conv_relu_0(
// OFF-SAME:      graph.plan = #cpu.contraction<
// OFF-NOT:     winograd

// FAST:        func.func private @conv_relu_0(
// FAST-SAME:     #cpu.panels<of = tensor<64x64x64xf32>

// REMARK: remark: kernel 'conv_relu_0' gets transformed filters, F(4, 3): {{[0-9]+}} cycles, {{[0-9]+}} with filters as they are

// Every other position is another convolution.
// CHECK:       func.func private @conv_0(
// CHECK-SAME:    graph.plan = #cpu.contraction<
// CHECK:       func.func private @conv_1(
// CHECK-SAME:    graph.plan = #cpu.winograd<

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<1x96x96x64xf32> {graph.name = "x"}, %v: tensor<64x64x3x3xf32> {graph.name = "v"})
      -> (tensor<1x96x96x64xf32> {graph.name = "y0"}, tensor<1x48x48x64xf32> {graph.name = "y1"},
          tensor<1x96x96x64xf32> {graph.name = "y2"}) {
    %w = graph.constant #graph.external<"w.bin", 0, 147456> : tensor<64x64x3x3xf32>
    %0 = graph.kernel (%a = %x, %k = %w) : (tensor<1x96x96x64xf32>, tensor<64x64x3x3xf32>) -> tensor<1x96x96x64xf32> {
      %p = graph.conv %a, %k strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 1 channels_last
          : tensor<1x96x96x64xf32>, tensor<64x64x3x3xf32> -> tensor<1x96x96x64xf32>
      %r = graph.relu %p : tensor<1x96x96x64xf32>
      graph.yield %r : tensor<1x96x96x64xf32>
    }
    %1 = graph.kernel (%a = %x, %k = %w) : (tensor<1x96x96x64xf32>, tensor<64x64x3x3xf32>) -> tensor<1x48x48x64xf32> {
      %p = graph.conv %a, %k strides [2, 2] padding [1, 1, 1, 1] dilations [1, 1] groups 1 channels_last
          : tensor<1x96x96x64xf32>, tensor<64x64x3x3xf32> -> tensor<1x48x48x64xf32>
      graph.yield %p : tensor<1x48x48x64xf32>
    }
    %2 = graph.kernel (%a = %x, %k = %v) : (tensor<1x96x96x64xf32>, tensor<64x64x3x3xf32>) -> tensor<1x96x96x64xf32> {
      %p = graph.conv %a, %k strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 1 channels_last
          : tensor<1x96x96x64xf32>, tensor<64x64x3x3xf32> -> tensor<1x96x96x64xf32>
      graph.yield %p : tensor<1x96x96x64xf32>
    }
    return %0, %1, %2 : tensor<1x96x96x64xf32>, tensor<1x48x48x64xf32>, tensor<1x96x96x64xf32>
  }
}
