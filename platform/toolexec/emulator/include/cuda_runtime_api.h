/* cuda_runtime_api.h: everything is in the prelude. */
#pragma once
#include "kwemu/prelude.h"
