/* cuda_bf16.h: the types are in the prelude. */
#pragma once
#include "kwemu/half_functions.h"
#include "kwemu/prelude.h"
