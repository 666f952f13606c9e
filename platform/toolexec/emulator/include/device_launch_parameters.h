/* device_launch_parameters.h: everything is in the prelude. */
#pragma once
#include "kwemu/prelude.h"
