// SPDX-License-Identifier: MIT
// Stream captures: what their files share. All of it is guarded by graph_lock.
#ifndef DRIVER_CAPTURE_H
#define DRIVER_CAPTURE_H

#include "driver/graph.h"

struct capture {
    uint64_t id;
    CUstreamCaptureMode mode;
    pthread_t thread; // that began it
    struct graph *graph;
    bool own_graph; // made for this capture, not given by the program
    bool invalid;
    struct stream *origin;
    struct stream **streams; // vec: all that take part, origin too
    struct graph_node **left; // vec: frontiers of streams that were destroyed
};

// Nodes that a captured event stands for.
struct capture_mark {
    uint64_t capture_id;
    struct graph_node **nodes; // vec
};

extern struct capture **captures; // vec: those that run
extern atomic_uint ncaptures;     // its length, to be read without the lock

struct capture *capture_by_id(uint64_t id);
// A capture in a blocking stream of the context, or NULL.
struct capture *capture_blocking(const struct context *c);
// The capture cannot be completed any more: logs what happened and returns `why`.
CUresult capture_invalidate(struct capture *c, CUresult why, const char *what);
// Frontiers; `nodes` may be the frontier itself.
void capture_set_frontier(struct stream *s, struct graph_node *const *nodes, size_t n);
void capture_extend_frontier(struct stream *s, struct graph_node *const *nodes, size_t n);
void capture_enter(struct stream *s, struct capture *c);
void capture_leave(struct stream *s);
// Releases the streams and frees the capture; its graph stays.
void capture_end(struct capture *c);

#endif
