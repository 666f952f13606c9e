/* assert in a CUDA thread ends the launch with file and line; no #pragma once: assert.h may be included anew. */
#include "kwemu/machine.h"
#undef assert
#ifdef NDEBUG
#define assert(...) ((void)0)
#else
#define assert(...) ((__VA_ARGS__) ? (void)0 : kwemu_stop("assertion", #__VA_ARGS__ " is false", __LINE__, __FILE__))
#endif
#ifndef __cplusplus
#define static_assert _Static_assert
#endif
