// SPDX-License-Identifier: MIT
// Launches by kernels. A grid's descent is what its threads launched; the grid counts as ended when
// all of its descent has.
#ifndef CPU_DESCENT_H
#define CPU_DESCENT_H

#include "backend/cpu/cpu.h"

struct descent;

// Runs what the grid's threads launched, and what those grids launch, and frees it. The grid itself
// has ended. `depth`: 0 for a grid that the host launched.
void descent_run(struct backend_scope *s, struct descent *d, unsigned depth);

// Runs one grid without its descent, which is returned; NULL if there is none (schedule.c).
struct descent *launch_grid(struct backend_scope *s, const struct command *c, unsigned depth);

#endif
