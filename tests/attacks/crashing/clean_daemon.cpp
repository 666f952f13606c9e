// expect: WRONG_VALUES NONFINITE RUNTIME_ERROR CHEATED POLICY TIMEOUT
// task: row_softmax
// needs: sandbox
// Leaves a daemon behind: new session, no environment, no parent, another program.
#include <unistd.h>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  static bool done = false;
  if (!done && in[0].ndim + out[0].ndim) {
    done = true;
    if (fork() == 0) {
      setsid();
      if (fork() == 0) {
        char name[] = "sleep", time[] = "417";
        char *arguments[] = {name, time, nullptr}, *environment[] = {nullptr};
        for (int fd = 0; fd < 256; fd++) close(fd);
        execve("/bin/sleep", arguments, environment);
      }
      _exit(0);
    }
  }
  return 0;
}
