/* cuda_bf16.h: everything is in the prelude. */
#pragma once
#include "kwemu/prelude.h"
