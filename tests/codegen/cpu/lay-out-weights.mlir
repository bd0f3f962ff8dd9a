// RUN: graph-opt %s --lower-kernels --lay-out-weights --merge-kernels | FileCheck %s
// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --merge-kernels --outline-constants | FileCheck %s --check-prefix=KERNELS
// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --merge-kernels --outline-constants --divide-kernels --plan-memory | FileCheck %s --check-prefix=PLAN

// A weight lies as the product wants it that reads it, and its momentum, which
// is updated with it, lies alike. The names of what programs see stay.
// CHECK:      graph.variable "w" = dense<5.000000e-01> : tensor<1000x100xf32> trainable
// CHECK-SAME:   stored tensor<4x1000x32xf32> pack @[[PACK:.*]] unpack @[[UNPACK:.*]] {cpu.layout = #cpu.panels<of = tensor<1000x100xf32>, order = [0, 1], batch = 0, width = 32>}
// CHECK:      graph.variable "m" = dense<0.000000e+00> : tensor<1000x100xf32>
// CHECK-SAME:   stored tensor<4x1000x32xf32> pack @[[PACK]] unpack @[[UNPACK]]

// A product that computes next values stores panels, and what is element-wise
// runs along them: nothing is packed, and both are written in place.
// CHECK-LABEL: func.func @train_step
// CHECK-SAME:    tensor<4x1000x32xf32> {graph.variable = "w"}
// CHECK:         %[[Y:.*]] = graph.dispatch @matmul_0(%{{.*}}, %arg2)
// CHECK:         %[[M:.*]] = graph.dispatch @matmul_mul_add_0({{.*}}) : (tensor<64x1000xf32>, tensor<64x100xf32>, tensor<4x1000x32xf32>) -> tensor<4x1000x32xf32>
// CHECK:         %[[W:.*]] = graph.dispatch @mul_add_0(%[[M]], %arg2) : (tensor<4x1000x32xf32>, tensor<4x1000x32xf32>) -> tensor<4x1000x32xf32>
// CHECK:         return %[[Y]], %[[W]], %[[M]]

// What reads it in another way unpacks it.
// CHECK-LABEL: func.func @sums
// CHECK:         %[[PLAIN:.*]] = graph.dispatch @[[UNPACK]](%arg0) : (tensor<4x1000x32xf32>) -> tensor<1000x100xf32>
// CHECK:         graph.dispatch @reduce_0_parts(%[[PLAIN]])

// KERNELS-LABEL: func.func @init
// KERNELS:         graph.dispatch @matmul_0_pack(%{{.*}}) : (tensor<1000x100xf32>) -> tensor<4x1000x32xf32>
// KERNELS-LABEL: func.func private @matmul_mul_add_0
// KERNELS-SAME:    graph.inplace = {{\[}}array<i64: 2, 0>]
// KERNELS-SAME:    graph.plan = #cpu.contraction<
// KERNELS-LABEL: func.func private @mul_add_0
// KERNELS-SAME:    graph.inplace = {{\[}}array<i64: 0, 0>, array<i64: 1, 0>]
// KERNELS-SAME:    graph.plan = #cpu.rows<

// PLAN:      plan.variable "w" = weights[{{.*}}] : tensor<1000x100xf32> trainable layout <tensor<4x1000x32xf32>, pack @{{.*}} chunks {{.*}}, unpack @{{.*}} chunks
// PLAN-NEXT: plan.variable "m" : tensor<1000x100xf32> layout <tensor<4x1000x32xf32>
// PLAN-LABEL: plan.function @train_step
// PLAN:         arena 0 unplanned 0
// PLAN:         plan.dispatch @mul_add_0 {{.*}}writes(input 2[0 to 512000] inplace 1)

// Without a reader that is a product, or with few rows, it stays as it is.
// CHECK-LABEL: func.func @few_rows
// CHECK-SAME:    tensor<64x64xf32> {graph.variable = "v"}

// What an update repeats for each row or column is read as it is.
// CHECK-LABEL: func.func @scale
// CHECK:         graph.dispatch @mul_mul_0({{.*}}) : (tensor<100xf32>, tensor<1000x1xf32>, tensor<4x1000x32xf32>) -> tensor<4x1000x32xf32>

// KERNELS-LABEL: func.func private @mul_mul_0
// KERNELS-SAME:    graph.inplace = {{\[}}array<i64: 2, 0>]
// KERNELS-SAME:    graph.plan = #cpu.rows<

// The gradient of a convolution by its weights stores panels: those of each group.
// What is cast for the convolution is cast as it lies, and what turns it for another
// product does so from panels to panels.
// CHECK-LABEL: func.func @convolve
// CHECK-SAME:    tensor<2x1x3x3x16x32xf32> {graph.variable = "k"}
// CHECK:         %[[K:.*]] = graph.dispatch @cast_0(%arg2) : (tensor<2x1x3x3x16x32xf32>) -> tensor<2x1x3x3x16x32xbf16>
// CHECK:         graph.dispatch @conv_0(%{{.*}}, %[[K]])
// CHECK:         %[[K1:.*]] = graph.dispatch @conv_weight_gradient_{{.*}} -> tensor<2x1x3x3x16x32xf32>
// CHECK:         return %{{.*}}, %[[K1]]
// KERNELS-LABEL: func.func private @conv_weight_gradient_
// KERNELS-SAME:    graph.inplace
// KERNELS-SAME:    graph.plan = #cpu.outer_products<

// A product that reads a variable in another order reads it itself.
// CHECK-LABEL: func.func @transposed
// CHECK-SAME:    tensor<2x96x32xf32> {graph.variable = "t"}
// CHECK-NEXT:    graph.dispatch @{{.*}}(%arg0, %arg1)
// CHECK-NEXT:    return

module attributes {graph.cpu = "x86-64-v4"} {
  graph.variable "k" = dense<0.5> : tensor<64x16x3x3xf32> trainable
  graph.variable "t" = dense<0.5> : tensor<1x64x96xf32> trainable
  graph.variable "w" = dense<0.5> : tensor<1000x100xf32> trainable
  graph.variable "m" = dense<0.0> : tensor<1000x100xf32>
  graph.variable "u" = dense<0.5> : tensor<1000x100xf32> trainable
  graph.variable "v" = dense<0.0> : tensor<64x64xf32>
  func.func @train_step(%x: tensor<64x1000xf32> {graph.name = "x"}, %d: tensor<64x100xf32> {graph.name = "d"},
                        %w: tensor<1000x100xf32> {graph.variable = "w"}, %m: tensor<1000x100xf32> {graph.variable = "m"})
      -> (tensor<64x100xf32> {graph.name = "y"}, tensor<1000x100xf32> {graph.variable = "w"}, tensor<1000x100xf32> {graph.variable = "m"}) {
    %y = graph.kernel (%a = %x, %b = %w) : (tensor<64x1000xf32>, tensor<1000x100xf32>) -> tensor<64x100xf32> {
      %0 = graph.matmul %a, %b : tensor<64x1000xf32>, tensor<1000x100xf32> -> tensor<64x100xf32>
      graph.yield %0 : tensor<64x100xf32>
    }
    %m1 = graph.kernel (%a = %x, %b = %d, %c = %m) : (tensor<64x1000xf32>, tensor<64x100xf32>, tensor<1000x100xf32>) -> tensor<1000x100xf32> {
      %k = graph.constant dense<0.9> : tensor<f32>
      %0 = graph.matmul %a, %b transpose_a : tensor<64x1000xf32>, tensor<64x100xf32> -> tensor<1000x100xf32>
      %1 = graph.mul %c, %k : tensor<1000x100xf32>, tensor<f32> -> tensor<1000x100xf32>
      %2 = graph.add %1, %0 : tensor<1000x100xf32>, tensor<1000x100xf32> -> tensor<1000x100xf32>
      graph.yield %2 : tensor<1000x100xf32>
    }
    %w1 = graph.kernel (%a = %m1, %b = %w) : (tensor<1000x100xf32>, tensor<1000x100xf32>) -> tensor<1000x100xf32> {
      %k = graph.constant dense<-0.1> : tensor<f32>
      %0 = graph.mul %a, %k : tensor<1000x100xf32>, tensor<f32> -> tensor<1000x100xf32>
      %1 = graph.add %0, %b : tensor<1000x100xf32>, tensor<1000x100xf32> -> tensor<1000x100xf32>
      graph.yield %1 : tensor<1000x100xf32>
    }
    return %y, %w1, %m1 : tensor<64x100xf32>, tensor<1000x100xf32>, tensor<1000x100xf32>
  }
  func.func @sums(%w: tensor<1000x100xf32> {graph.variable = "w"}) -> (tensor<100xf32> {graph.name = "s"}) {
    %s = graph.kernel (%a = %w) : (tensor<1000x100xf32>) -> tensor<100xf32> {
      %0 = graph.reduce sum %a axes [0] : tensor<1000x100xf32> -> tensor<100xf32>
      graph.yield %0 : tensor<100xf32>
    }
    return %s : tensor<100xf32>
  }
  func.func @few_rows(%x: tensor<2x64xf32> {graph.name = "x"}, %v: tensor<64x64xf32> {graph.variable = "v"}) -> (tensor<2x64xf32> {graph.name = "y"}) {
    %y = graph.kernel (%a = %x, %b = %v) : (tensor<2x64xf32>, tensor<64x64xf32>) -> tensor<2x64xf32> {
      %0 = graph.matmul %a, %b : tensor<2x64xf32>, tensor<64x64xf32> -> tensor<2x64xf32>
      graph.yield %0 : tensor<2x64xf32>
    }
    return %y : tensor<2x64xf32>
  }
  func.func @scale(%x: tensor<64x1000xf32> {graph.name = "x"}, %columns: tensor<100xf32> {graph.name = "columns"},
                   %rows: tensor<1000x1xf32> {graph.name = "rows"}, %u: tensor<1000x100xf32> {graph.variable = "u"})
      -> (tensor<64x100xf32> {graph.name = "y"}, tensor<1000x100xf32> {graph.variable = "u"}) {
    %y = graph.kernel (%a = %x, %b = %u) : (tensor<64x1000xf32>, tensor<1000x100xf32>) -> tensor<64x100xf32> {
      %0 = graph.matmul %a, %b : tensor<64x1000xf32>, tensor<1000x100xf32> -> tensor<64x100xf32>
      graph.yield %0 : tensor<64x100xf32>
    }
    %u1 = graph.kernel (%a = %columns, %b = %rows, %c = %u) : (tensor<100xf32>, tensor<1000x1xf32>, tensor<1000x100xf32>) -> tensor<1000x100xf32> {
      %0 = graph.mul %c, %a : tensor<1000x100xf32>, tensor<100xf32> -> tensor<1000x100xf32>
      %1 = graph.mul %0, %b : tensor<1000x100xf32>, tensor<1000x1xf32> -> tensor<1000x100xf32>
      graph.yield %1 : tensor<1000x100xf32>
    }
    return %y, %u1 : tensor<64x100xf32>, tensor<1000x100xf32>
  }
  func.func @convolve(%x: tensor<4x9x9x32xbf16> {graph.name = "x"}, %d: tensor<4x9x9x64xbf16> {graph.name = "d"},
                      %k: tensor<64x16x3x3xf32> {graph.variable = "k"})
      -> (tensor<4x9x9x64xbf16> {graph.name = "y"}, tensor<64x16x3x3xf32> {graph.variable = "k"}) {
    %c = graph.kernel (%a = %k) : (tensor<64x16x3x3xf32>) -> tensor<64x16x3x3xbf16> {
      %0 = graph.cast %a : tensor<64x16x3x3xf32> to tensor<64x16x3x3xbf16>
      graph.yield %0 : tensor<64x16x3x3xbf16>
    }
    %y = graph.kernel (%a = %x, %b = %c) : (tensor<4x9x9x32xbf16>, tensor<64x16x3x3xbf16>) -> tensor<4x9x9x64xbf16> {
      %0 = graph.conv %a, %b strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 2 channels_last
          : tensor<4x9x9x32xbf16>, tensor<64x16x3x3xbf16> -> tensor<4x9x9x64xbf16>
      graph.yield %0 : tensor<4x9x9x64xbf16>
    }
    %k1 = graph.kernel (%a = %x, %b = %d, %w = %k) : (tensor<4x9x9x32xbf16>, tensor<4x9x9x64xbf16>, tensor<64x16x3x3xf32>) -> tensor<64x16x3x3xf32> {
      %0 = graph.conv_weight_gradient %a, %b kernel [3, 3] strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 2 channels_last
          : tensor<4x9x9x32xbf16>, tensor<4x9x9x64xbf16> -> tensor<64x16x3x3xbf16>
      %1 = graph.cast %0 : tensor<64x16x3x3xbf16> to tensor<64x16x3x3xf32>
      %2 = graph.sub %w, %1 : tensor<64x16x3x3xf32>, tensor<64x16x3x3xf32> -> tensor<64x16x3x3xf32>
      graph.yield %2 : tensor<64x16x3x3xf32>
    }
    return %y, %k1 : tensor<4x9x9x64xbf16>, tensor<64x16x3x3xf32>
  }
  func.func @transposed(%x: tensor<32x96xf32> {graph.name = "x"}, %t: tensor<1x64x96xf32> {graph.variable = "t"})
      -> (tensor<32x64xf32> {graph.name = "y"}) {
    %r = graph.reshape %t : tensor<1x64x96xf32> to tensor<64x96xf32>
    %m = graph.kernel (%a = %r) : (tensor<64x96xf32>) -> tensor<96x64xf32> {
      %0 = graph.transpose %a [1, 0] : tensor<64x96xf32> -> tensor<96x64xf32>
      graph.yield %0 : tensor<96x64xf32>
    }
    %y = graph.kernel (%a = %x, %b = %m) : (tensor<32x96xf32>, tensor<96x64xf32>) -> tensor<32x64xf32> {
      %0 = graph.matmul %a, %b : tensor<32x96xf32>, tensor<96x64xf32> -> tensor<32x64xf32>
      graph.yield %0 : tensor<32x64xf32>
    }
    return %y : tensor<32x64xf32>
  }
}
