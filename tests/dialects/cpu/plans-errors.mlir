// Plans that are wrong whatever their kernel is.
//
// RUN: graph-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'tile' must be [rows, columns], found [4]}}
func.func private @k() attributes {graph.plan = #cpu.contraction<tile = [4], block = [1, 1, 1], depth = 8, left = staged, right = copied>}

// -----

// expected-error @+1 {{'tile' must be from 1 to 256, found 512}}
func.func private @k() attributes {graph.plan = #cpu.contraction<tile = [4, 512], block = [1, 1, 1], depth = 8, left = staged, right = copied>}

// -----

// expected-error @+1 {{'block' must be [lines, tiles, panels], found [1, 1]}}
func.func private @k() attributes {graph.plan = #cpu.contraction<tile = [4, 16], block = [1, 1], depth = 8, left = staged, right = copied>}

// -----

// expected-error @+1 {{'block' must be at least 1, found 0}}
func.func private @k() attributes {graph.plan = #cpu.outer_products<lanes = plain, tile = [4, 16], taps = 1, block = [8, 0], level = 0, sums = 1>}

// -----

// expected-error @+1 {{'tile' must be [rows, columns], found [4]}}
func.func private @k() attributes {graph.plan = #cpu.winograd_gradient<positions = 2, lanes = plain, tile = [4], block = [8, 16], level = 0, sums = 1>}

// -----

// expected-error @+1 {{'cpu.transforms' must be array<i64: …> of 2, 4 and 6, found array<i64: 3>}}
func.func private @k() attributes {cpu.transforms = array<i64: 3>}

// -----

// expected-error @+1 {{'tile' must be [taps, channels], found [3, 8, 1]}}
func.func private @k() attributes {graph.plan = #cpu.depthwise_gradient<tile = [3, 8, 1], level = 0, sums = 1>}

// -----

// expected-error @+1 {{'lanes' must be a power of two from 1 to 64, found 128}}
func.func private @k() attributes {graph.plan = #cpu.windows<lanes = 128, outputs = 1, channels = 8, units = 1>}

// -----

// expected-error @+1 {{'side' must be a power of two from 1 to 16, found 12}}
func.func private @k() attributes {graph.plan = #cpu.transpose<side = 12, rows = 12, units = 1>}

// -----

// expected-error @+1 {{'units' must be at least 1, found 0}}
func.func private @k() attributes {graph.plan = #cpu.transpose<side = 8, rows = 16, units = 0>}

// -----

// expected-error @+1 {{'rows' must be a multiple of 8, as 'side' says, found 12}}
func.func private @k() attributes {graph.plan = #cpu.transpose<side = 8, rows = 12, units = 1>}

// -----

// expected-error @+1 {{'units' must be at least 1, found 0}}
func.func private @k() attributes {graph.plan = #cpu.scatter<block = 8, units = 0>}

// -----

// expected-error @+1 {{'products' must be [#cpu.contraction<…>, …], found [8]}}
func.func private @k() attributes {graph.plan = #cpu.rows<outer = 0, lanes = 8, units = 1, products = [8]>}

// -----

// expected-error @+1 {{'rows' must be from 2 to 32, found 1}}
func.func private @k() attributes {graph.plan = #cpu.sized_contraction<rows = [6, 1], columns = 16, row = 32>}
