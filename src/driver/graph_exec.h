// SPDX-License-Identifier: MIT
// Executable graphs: what instantiation, launch and update share.
#ifndef DRIVER_GRAPH_EXEC_H
#define DRIVER_GRAPH_EXEC_H

#include "driver/graph.h"

struct exec_node {
    struct work w;    // child graphs live in `child` instead
    uint64_t origin;  // id of the node of the graph that was instantiated
    uint64_t updated; // id of the node that an update took the work from, or 0
    bool disabled;
    size_t *deps;            // vec: indices of the nodes that this one depends on
    struct exec_list *child; // vec: GRAPH has one, CONDITIONAL its bodies
};

// Nodes in the order of their creation, and the order in which they are launched.
struct exec_list {
    struct exec_node *nodes; // vec
    size_t *order;           // vec
};

struct graph_exec {
    struct object obj;
    unsigned long long flags;
    pthread_mutex_t lock; // guards all below
    struct exec_list list;
    struct intmap by_id;    // node id -> struct exec_node
    struct signal *last;    // end of the latest launch
    uint64_t last_stream;   // id of its stream
    struct user_ref *users; // vec
    bool has_memory, has_conditions;
};

struct graph_exec *exec_get(CUgraphExec e);
// Holds graph_lock. A copy of the graph's nodes; children too.
CUresult exec_list_make(struct graph *g, struct exec_list *out);
void exec_list_free(struct exec_list *l);
// (Re)builds e->by_id.
void exec_index(struct graph_exec *e);

#endif
