// SPDX-License-Identifier: MIT
// Events of several processes: what a page that they share says of the latest record.
#ifndef DRIVER_IPC_EVENT_H
#define DRIVER_IPC_EVENT_H

#include "driver/driver.h"

struct ipc_event;

struct ipc_event *ipc_event_new(void); // NULL: no shared memory
void ipc_event_free(struct ipc_event *e);
// A record by this process: `done` completes with the work before it.
void ipc_event_record(struct ipc_event *e, struct signal *done);
// Whether what was recorded last, by whatever process, is done; its error in *error.
bool ipc_event_done(struct ipc_event *e, int *error);
void ipc_event_wait(struct ipc_event *e, int *error);
// A command that waits for what was recorded last, or NULL when it is done.
struct command *ipc_event_wait_command(struct ipc_event *e);

#endif
