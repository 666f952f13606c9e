/* cuda_pipeline_primitives.h: everything is in the prelude. */
#pragma once
#include "kwemu/prelude.h"
