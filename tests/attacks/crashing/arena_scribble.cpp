// expect: CHEATED WRONG_VALUES NONFINITE RUNTIME_ERROR
// task: row_softmax
// Overwrites all memory that it shares with its caller.
#include <cstdio>
#include <cstring>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512], mode[8];
  unsigned long low, high;
  while (maps && fgets(line, sizeof line, maps))
    if (strstr(line, "memfd") && sscanf(line, "%lx-%lx %7s", &low, &high, mode) == 3 && mode[1] == 'w')
      memset((void *)low, 0x3f, high - low);
  if (maps) fclose(maps);
  return in[0].ndim + out[0].ndim < 0;
}
