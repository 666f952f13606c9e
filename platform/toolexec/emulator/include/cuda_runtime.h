/* cuda_runtime.h: everything is in the prelude. */
#pragma once
#include "kwemu/prelude.h"
