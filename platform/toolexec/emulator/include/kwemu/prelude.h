/* What nvcc gives a .cu file without being asked; included before its first line. */
#pragma once
#include "host.h"
#include "lanes.h"
#include "ptx.h"
#include "rounding.h"
#include "sync.h"
#include "../assert.h"
#ifndef CUDART_INF_F
#define CUDART_INF_F __builtin_inff()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_PI_F 3.141592654f
#endif
