// Every attribute struct, for runtime/kernels.h. One line per header, in alphabetical order.
#pragma once

#include "runtime/attrs/activation.h"
#include "runtime/attrs/add.h"
#include "runtime/attrs/batch_norm.h"
#include "runtime/attrs/conv.h"
#include "runtime/attrs/dropout.h"
#include "runtime/attrs/loss.h"
#include "runtime/attrs/lrn.h"
#include "runtime/attrs/matmul.h"
#include "runtime/attrs/none.h"
#include "runtime/attrs/optimizer.h"
#include "runtime/attrs/pad.h"
#include "runtime/attrs/pool.h"
#include "runtime/attrs/scale.h"
#include "runtime/attrs/shape.h"
