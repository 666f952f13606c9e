/* CUDA's name for nvcuda::wmma. */
#pragma once
#include "kwemu/wmma.h"
