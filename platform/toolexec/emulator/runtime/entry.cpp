/* kw_run and kw_prepare as a worker calls them: the candidate's own stand behind kwemu_kw_run. Tensors become objects. */
#include "../../languages/kernelwright.h"
#include "shadow.hpp"

extern "C" {
__attribute__((weak, visibility("hidden"))) int kwemu_kw_run(const kw_tensor*, kw_tensor*, const kw_scalar*, kw_workspace*, kw_stream);
__attribute__((weak, visibility("hidden"))) int kwemu_kw_prepare(const kw_tensor*, const kw_scalar*, kw_workspace*);
}

namespace kwemu {
namespace {
size_t bytes_of(const kw_tensor& t) {
  static const size_t sizes[] = {4, 8, 2, 2, 1, 1, 2, 4, 8, 1};
  size_t n = sizes[t.dtype];
  for (int i = 0; i < t.ndim; i++) n *= size_t(t.shape[i]);
  return n;
}
std::vector<void*> lent;  // to the last call: what it was lent is no memory of the next one

void lend(void* p, size_t bytes, const std::string& name, bool written) {
  add_object(p, bytes, name.c_str(), written);
  if (CHECKED) lent.push_back(p);
}
void name_tensors(const kw_tensor* in, kw_tensor* out, const kw_workspace* ws) try {
  for (void* p : lent) remove_object(p);
  lent.clear();
  add_device_variables();
  int first = ws->n_in - ws->n_params;
  for (int i = 0; i < ws->n_in; i++) {
    std::string name = i < first ? format("in%d", i) : format("in%d (param%d)", i, i - first);
    if (in[i].data) lend(in[i].data, bytes_of(in[i]), name, true);
  }
  for (int i = 0; out && i < ws->n_out; i++) lend(out[i].data, bytes_of(out[i]), format("out%d", i), false);
} catch (const std::string&) {  // no memory for the shadow: the report says so
}
int finished(int code) { return machine.report.empty() ? code : code ? code : 719; }
}  // namespace
}  // namespace kwemu

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar* scalars, kw_workspace* ws, kw_stream stream) {
  kwemu::machine.report.clear();
  if (!kwemu_kw_run) return -1;
  kwemu::name_tensors(in, out, ws);
  if (!kwemu::machine.report.empty()) return 719;
  return kwemu::finished(kwemu_kw_run(in, out, scalars, ws, stream));
}
KW_EXPORT int kw_prepare(const kw_tensor* in, const kw_scalar* scalars, kw_workspace* ws) {
  kwemu::machine.report.clear();
  if (!kwemu_kw_prepare) return 0;
  kwemu::name_tensors(in, nullptr, ws);
  return kwemu::finished(kwemu_kw_prepare(in, scalars, ws));
}
/* For launches as data: tensors of a call, scratch of a call. */
KW_EXPORT void kwemu_begin(const kw_tensor* in, kw_tensor* out, const kw_workspace* ws) {
  kwemu::machine.report.clear();
  kwemu::name_tensors(in, out, ws);
}
KW_EXPORT void kwemu_scratch(void* p, size_t bytes, const char* name) {
  memset(p, 0xcb, bytes);
  try {
    kwemu::lend(p, bytes, name, false);
  } catch (const std::string&) {
  }
}
/* What went wrong in the last call; "" when nothing did. */
KW_EXPORT const char* kw_failure(void) { return kwemu::machine.report.c_str(); }

/* The host's side of memory: objects come and go with allocations. */
extern "C" {
KWEMU_HIDDEN void kwemu_allocated(void* p, size_t bytes, const char* name, int written) {
  try {
    kwemu::add_object(p, bytes, name, written);
  } catch (const std::string&) {
  }
}
KWEMU_HIDDEN void kwemu_freed(void* p) { if (kwemu::CHECKED) kwemu::remove_object(p); }
KWEMU_HIDDEN void kwemu_written(void* p, size_t bytes) { kwemu::mark_written(p, bytes); }
KWEMU_HIDDEN int kwemu_failed(void) { return !kwemu::machine.report.empty(); }
}
