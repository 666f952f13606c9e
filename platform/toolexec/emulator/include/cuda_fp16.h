/* cuda_fp16.h: everything is in the prelude. */
#pragma once
#include "kwemu/prelude.h"
