/* driver_types.h: everything is in the prelude. */
#pragma once
#include "kwemu/prelude.h"
