// Calls a candidate's kw_run as often as it is told, so that counters can stand beside it.
//   g++ -O1 -rdynamic -I. driver.cpp -o driver -ldl
//   ./driver ./kernel.so job.bin count        one warm-up call, then one inside kw_counted_call
//   ./driver ./kernel.so job.bin serve R W    reads a number of calls from R, makes them, writes the last result to W
// job.bin is written by drive.py: Head, kw_tensor of in[] and out[] (`data` holds the bytes), kw_scalar, the inputs' bytes.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernelwright.h"

struct Head {
  int64_t n_in, n_params, n_out, n_scalars, threads;
};
struct Job {
  Head head;
  kw_tensor *in, *out;
  kw_scalar *scalars;
  kw_workspace workspace;
};
typedef int (*Run)(const kw_tensor *, kw_tensor *, const kw_scalar *, kw_workspace *, kw_stream);
typedef int (*Prepare)(const kw_tensor *, const kw_scalar *, kw_workspace *);

extern "C" __attribute__((noinline, visibility("default"))) int kw_counted_call(Run run, Job *job) {
  const int code = run(job->in, job->out, job->scalars, &job->workspace, nullptr);
  __asm__ volatile("" ::: "memory");  // no tail call: the counting ends here
  return code;
}

static void read_all(FILE *file, void *to, size_t bytes) {
  if (bytes && fread(to, 1, bytes, file) != bytes) exit(11);
}

static void *room(size_t bytes) {
  void *p = nullptr;
  if (posix_memalign(&p, 64, bytes + 256)) exit(12);
  memset(p, 0, bytes + 256);
  return p;
}

static Job read_job(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) exit(10);
  Job job;
  read_all(file, &job.head, sizeof job.head);
  const Head &head = job.head;
  job.in = (kw_tensor *)room(head.n_in * sizeof(kw_tensor));
  job.out = (kw_tensor *)room(head.n_out * sizeof(kw_tensor));
  job.scalars = (kw_scalar *)room(head.n_scalars * sizeof(kw_scalar));
  read_all(file, job.in, head.n_in * sizeof(kw_tensor));
  read_all(file, job.out, head.n_out * sizeof(kw_tensor));
  read_all(file, job.scalars, head.n_scalars * sizeof(kw_scalar));
  for (int64_t i = 0; i < head.n_in; ++i) {
    const size_t bytes = (size_t)job.in[i].data;
    job.in[i].data = room(bytes);
    read_all(file, job.in[i].data, bytes);
  }
  for (int64_t i = 0; i < head.n_out; ++i) job.out[i].data = room((size_t)job.out[i].data);
  fclose(file);
  job.workspace = {(int32_t)head.threads, (int32_t)head.n_in, (int32_t)head.n_params, (int32_t)head.n_out,
                   (int32_t)head.n_scalars, 0, nullptr};
  return job;
}

static int serve(Run run, Job *job, int from, int to) {
  int64_t calls = 0, code = 0;
  while (write(to, &code, sizeof code) == sizeof code && read(from, &calls, sizeof calls) == sizeof calls && calls > 0)
    for (code = 0; calls > 0 && code == 0; --calls) code = kw_counted_call(run, job);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 3;
  const Run run = (Run)dlsym(library, "kw_run");
  const Prepare prepare = (Prepare)dlsym(library, "kw_prepare");
  if (!run) return 4;
  Job job = read_job(argv[2]);
  if (prepare) {
    kw_tensor *bare = (kw_tensor *)room(job.head.n_in * sizeof(kw_tensor));
    memcpy(bare, job.in, job.head.n_in * sizeof(kw_tensor));
    for (int64_t i = 0; i < job.head.n_in - job.head.n_params; ++i) bare[i].data = nullptr;
    if (prepare(bare, job.scalars, &job.workspace)) return 5;
  }
  if (run(job.in, job.out, job.scalars, &job.workspace, nullptr)) return 6;
  if (!strcmp(argv[3], "count")) return kw_counted_call(run, &job) ? 7 : 0;
  return argc < 6 ? 2 : serve(run, &job, atoi(argv[4]), atoi(argv[5]));
}
