#include "ptx/ptx.h"
bool ptx_verify(struct ptx_module *m, struct ptx_diags *d){(void)m;(void)d;return true;}
