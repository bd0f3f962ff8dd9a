#include "tests/eager/kernels/KernelsTesting.h"
