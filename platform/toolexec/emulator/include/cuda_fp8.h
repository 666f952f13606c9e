/* cuda_fp8.h: everything is in the prelude. */
#pragma once
#include "kwemu/prelude.h"
