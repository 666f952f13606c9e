/* cuda.h: the driver API is not emulated; only its name is here. */
#pragma once
#include "kwemu/prelude.h"
typedef int CUresult;
